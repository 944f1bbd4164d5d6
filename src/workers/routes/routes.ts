import type { OperationId, operations } from "../../protocol/operations.ts";
import type { Route } from "../http/call.ts";
import { heartbeat, leave, settle } from "./consumers.ts";
import { explain, overview, subscribers, waitingLanes } from "./observe.ts";
import { health, openapi } from "./open.ts";
import {
  collect,
  deadLetters,
  deleteMessage,
  getMessage,
  lag,
  leases,
  listMessages,
  purgeDeadLetters,
  purgeMessages,
  redrive,
  releaseLease,
  resetOffset,
} from "./operate.ts";
import { publish, publishRaw } from "./publish.ts";
import { receive } from "./receive.ts";
import { deleteRoute, getRoute, listRoutes, putRoute } from "./routing.ts";
import { deleteGroup, getGroup, getTopic, listTopics, putGroup, putTopic } from "./settings.ts";
import {
  deleteSplit,
  deleteSplitRoute,
  getSplit,
  getSplitRoute,
  listSplitRoutes,
  putSplit,
  putSplitRoute,
  resumeSplit,
  startSplit,
  stopSplit,
} from "./splits.ts";

/** Each operation's route. An operation without one does not compile. */
export const routes: { [Id in OperationId]: Route<(typeof operations)[Id]> } = {
  publish,
  publishRaw,
  receive,
  settle,
  heartbeat,
  leave,
  putGroup,
  getGroup,
  deleteGroup,
  putTopic,
  getTopic,
  listTopics,
  listMessages,
  getMessage,
  deleteMessage,
  purgeMessages,
  lag,
  resetOffset,
  leases,
  releaseLease,
  putRoute,
  getRoute,
  listRoutes,
  deleteRoute,
  explain,
  waitingLanes,
  subscribers,
  overview,
  deadLetters,
  redrive,
  purgeDeadLetters,
  collect,
  putSplit,
  getSplit,
  deleteSplit,
  startSplit,
  stopSplit,
  resumeSplit,
  putSplitRoute,
  getSplitRoute,
  listSplitRoutes,
  deleteSplitRoute,
  health,
  openapi,
};
