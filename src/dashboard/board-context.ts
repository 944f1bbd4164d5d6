import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Board } from "./board.ts";
import type { BoardState } from "./state.ts";
import { useStore } from "./use-store.ts";

export const BoardContext = createContext<Board | null>(null);

export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (board === null) throw new Error("a part of the board is drawn outside of it");
  return board;
}

export function useBoardState(): BoardState {
  return useStore(useBoard().store);
}

/** Changes every second. */
export function useNowMs(): number {
  return useStore(useBoard().clock).nowMs;
}
