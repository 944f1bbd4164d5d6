import { ModelProbe } from "../../model-broker/model-probe.ts";
import { splittingSuite } from "./splitting-suite.ts";

splittingSuite({
  name: "a queue of the model broker",
  makeProbe: async () => new ModelProbe({ kind: "queue" }),
  cannot: {
    11: "a queue knows no transactions of its producers",
    26: "a queue keeps no positions that could be forgotten",
  },
});
