import { Board } from "./board.ts";
import { formatDuration } from "./format.ts";
import type { PollTimers } from "./poller.ts";
import type { Problem } from "./problem.ts";
import {
  claimsOf,
  fromFragment,
  isTenantName,
  keepSession,
  loadSession,
  type Session,
  type TokenClaims,
} from "./session.ts";
import { Store } from "./store.ts";
import { forgetView } from "./view.ts";

export interface DeskState {
  /** null: the form asks who reads. */
  board: Board | null;
  form: {
    /** Still in the field, in memory alone. */
    token: string;
    tenant: string;
    problem: string | null;
  };
}

/** The front of the page: takes tokens in, and has at most one board at work. */
export class Desk {
  readonly store = new Store<DeskState>({ board: null, form: { token: "", tenant: "", problem: null } });
  private readonly window: Window;

  constructor(window: Window) {
    this.window = window;
  }

  start(): void {
    const { window } = this;
    if (!this.takeFragment()) {
      const session = loadSession(window.sessionStorage);
      if (session !== null) this.open(session);
    }
    window.addEventListener("hashchange", () => this.takeFragment());
    window.document.addEventListener("visibilitychange", () => this.setVisible());
    window.addEventListener("pagehide", () => this.store.get().board?.stop());
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) this.store.get().board?.start();
    });
  }

  /** From the form, or from a link. What is wrong stays in the form and says why. */
  signIn(token: string, tenant: string): void {
    const trimmed = token.trim();
    const claims = trimmed === "" ? null : claimsOf(trimmed);
    const chosen = claims?.tenant ?? tenant.trim();
    const problem = formProblem(trimmed, claims, chosen);
    if (problem !== null) this.ask({ token: claims === null ? "" : trimmed, tenant, problem });
    else this.open({ tenant: chosen, token: trimmed === "" ? null : trimmed });
  }

  signOut(): void {
    this.ask({ token: "", tenant: "", problem: null });
  }

  private open(session: Session): void {
    const { window } = this;
    const before = this.store.get().board;
    if (before !== null) {
      before.stop();
      forgetView(window.sessionStorage);
    }
    keepSession(window.sessionStorage, session);
    const board = new Board(session, {
      url: window.location.origin,
      storage: window.sessionStorage,
      timers: timersOf(window),
      fetch: plainFetch,
      onRefused: (problem) => this.refused(session, problem),
    });
    this.store.update({ board, form: { token: "", tenant: "", problem: null } });
    this.setVisible();
    board.start();
  }

  private refused(session: Session, problem: Problem): void {
    if (this.store.get().board?.store.get().session !== session) return;
    const isTokenGood = problem.status !== 401;
    this.ask({
      token: isTokenGood ? (session.token ?? "") : "",
      tenant: session.tenant,
      problem: `${isTokenGood ? problem.detail : refusal(session.token)}${
        problem.requestId === null ? "" : ` (request ${problem.requestId})`
      }`,
    });
  }

  /** The form; of a board that was there nothing stays. */
  private ask(form: DeskState["form"]): void {
    const { sessionStorage } = this.window;
    this.store.get().board?.stop();
    keepSession(sessionStorage, null);
    forgetView(sessionStorage);
    this.store.update({ board: null, form });
  }

  /** The address bar, the history and whoever is shown the page get no token. */
  private takeFragment(): boolean {
    const { location, history } = this.window;
    const brought = fromFragment(location.hash);
    if (brought === null) return false;
    history.replaceState(null, "", location.pathname + location.search);
    this.signIn(brought.token ?? "", brought.tenant ?? "");
    return true;
  }

  private setVisible(): void {
    this.store.get().board?.setVisible(this.window.document.visibilityState === "visible");
  }
}

function formProblem(token: string, claims: TokenClaims | null, tenant: string): string | null {
  if (token !== "" && claims === null) return "This is not an access token: three parts with dots between.";
  if (isTenantName(tenant)) return null;
  if (tenant !== "") return "This is no tenant's name.";
  return token === "" ? "Without a token, name the tenant." : "The token is for every tenant: name one.";
}

function refusal(token: string | null): string {
  if (token === null) return "This server asks for a token.";
  const expiresAtMs = claimsOf(token)?.expiresAtMs ?? null;
  const expiredMs = expiresAtMs === null ? -1 : Date.now() - expiresAtMs;
  return expiredMs >= 0
    ? `The token has expired ${formatDuration(expiredMs)} ago. Get a new one.`
    : "The server does not take this token: it is signed with another secret, or has expired.";
}

function timersOf(window: Window): PollTimers {
  return {
    nowMs: () => Date.now(),
    after: (delayMs, run) => {
      const timer = window.setTimeout(run, delayMs);
      return () => window.clearTimeout(timer);
    },
  };
}

/** Nothing but the token says who asks, and nothing of a reply stays in the browser's cache. */
function plainFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, cache: "no-store", credentials: "omit" });
}
