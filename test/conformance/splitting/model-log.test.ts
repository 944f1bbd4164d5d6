import { ModelProbe } from "../../model-broker/model-probe.ts";
import { splittingSuite } from "./splitting-suite.ts";

splittingSuite({
  name: "a log of the model broker",
  makeProbe: async () => new ModelProbe({ kind: "log" }),
  cannot: { 8: "a log's publish goes where it is sent: no header makes copies" },
});
