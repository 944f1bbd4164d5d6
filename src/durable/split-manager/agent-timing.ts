/** An agent pings every twenty seconds: three lost ones are a hung process or a dead connection. */
export const AGENT_SILENCE_MS = 60_000;
/** How often the manager looks whether the agent is still there. */
export const AGENT_CHECK_MS = 30_000;
/** Between connecting and the hello. */
export const HELLO_WITHIN_MS = 30_000;
/** The agent, its successor, and one that is being sent away. */
export const MAX_CONNECTIONS = 4;
/** Of one connection. A cleanup reports twice for each resource, as fast as the broker answers. */
export const MAX_MESSAGES_PER_SECOND = 50;
export const MAX_BURST = 200;
