import { BoardContext } from "./board-context.ts";
import { BoardPage } from "./board-page.tsx";
import type { Desk } from "./desk.ts";
import { SignIn } from "./sign-in.tsx";
import { useStore } from "./use-store.ts";

export function App({ desk }: { desk: Desk }) {
  const { board } = useStore(desk.store);
  if (board === null) return <SignIn desk={desk} />;
  return (
    <BoardContext.Provider value={board}>
      <BoardPage key={board.store.get().session.tenant} onSignOut={() => desk.signOut()} />
    </BoardContext.Provider>
  );
}
