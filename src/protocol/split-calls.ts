import type {
  PutSplitInput,
  PutSplitRouteInput,
  ResumeSplitInput,
  SplitRouteView,
  SplitView,
} from "./split-manager.ts";
import type { Outcome } from "./tenant-calls.ts";

/** Whose manager is called. It travels with each call: an object learns whose it is by being told, and refuses another. */
export interface SplitRef {
  tenant: string;
  workload: string;
}

/**
 * What Workers ask of the manager of one workload's split. Every call answers a value, never throws. Each can be made
 * twice: what is so already is answered as the first time.
 */
export interface SplitCalls {
  putSplit(of: SplitRef, input: PutSplitInput): Promise<Outcome<SplitView>>;
  getSplit(of: SplitRef, input: Record<string, never>): Promise<Outcome<SplitView>>;
  deleteSplit(of: SplitRef, input: { force: boolean }): Promise<Outcome<null>>;
  startSplit(of: SplitRef, input: Record<string, never>): Promise<Outcome<SplitView>>;
  stopSplit(of: SplitRef, input: Record<string, never>): Promise<Outcome<SplitView>>;
  resumeSplit(of: SplitRef, input: ResumeSplitInput): Promise<Outcome<SplitView>>;
  putSplitRoute(of: SplitRef, input: PutSplitRouteInput): Promise<Outcome<SplitRouteView>>;
  getSplitRoute(of: SplitRef, input: { route: string }): Promise<Outcome<SplitRouteView>>;
  deleteSplitRoute(of: SplitRef, input: { route: string }): Promise<Outcome<null>>;
  listSplitRoutes(of: SplitRef, input: Record<string, never>): Promise<Outcome<{ routes: SplitRouteView[] }>>;
}
