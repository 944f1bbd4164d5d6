import { useEffect, useRef } from "preact/hooks";
import { useBoard, useBoardState } from "./board-context.ts";

/** Asks before something is done. Escape and the first button leave everything as it is. */
export function ConfirmDialog() {
  const board = useBoard();
  const { confirmation } = useBoardState();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (confirmation !== null && dialog.current?.open === false) dialog.current.showModal();
    if (confirmation === null) dialog.current?.close();
  }, [confirmation]);
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={() => board.confirm(null)}>
      {confirmation !== null && (
        <>
          <h2 id="confirm-title">{confirmation.title}</h2>
          <p>{confirmation.text}</p>
          <div class="buttons">
            <button type="button" onClick={() => board.confirm(null)}>
              Cancel
            </button>
            <button class="primary" type="button" onClick={() => void board.carryOut(confirmation)}>
              {confirmation.action}
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}
