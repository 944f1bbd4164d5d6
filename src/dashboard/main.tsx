import { render } from "preact";
import { App } from "./app.tsx";
import { Desk } from "./desk.ts";

const root = document.getElementById("app");
if (root !== null) {
  const desk = new Desk(window);
  desk.start();
  render(<App desk={desk} />, root);
}
