/** Mistakes that the model engine can be told to make, each to show that the suite finds it. */
export interface EngineFaults {
  /** The source's position moves before the shadow has the message. */
  settlesBeforePublish: boolean;
  /** Cleanup neither looks nor asks for a proof. */
  deletesWithoutLooking: boolean;
  /** A pump that starts again begins where the application stood. */
  seedsAgain: boolean;
  /** A restart while the application drains starts the pump. */
  pumpsWhileDraining: boolean;
  /** The inventory forgets a resource before it is deleted. */
  forgetsBeforeDelete: boolean;
  createsBeforeRecord: boolean;
  /** Another table counts at once, also for what is in flight or was in an earlier life. */
  switchesAtOnce: boolean;
  /** Copies are published with the headers that make the broker copy them again. */
  keepsCopyHeaders: boolean;
  /** A shadow drops a message after as many deliveries as a broker's default says. */
  limitsDeliveries: boolean;
  /** A confirm counts also where no queue took the message. */
  trustsConfirms: boolean;
  /** A body that is null is published as an empty one. */
  emptiesNullBodies: boolean;
  /** Positions that nobody reads by are left to be forgotten. */
  leavesPositions: boolean;
  /** Whoever has the fence acts, without a look at whether a newer agent was given an epoch. */
  trustsTheFence: boolean;
}

export const NO_FAULTS: EngineFaults = {
  settlesBeforePublish: false,
  deletesWithoutLooking: false,
  seedsAgain: false,
  pumpsWhileDraining: false,
  forgetsBeforeDelete: false,
  createsBeforeRecord: false,
  switchesAtOnce: false,
  keepsCopyHeaders: false,
  limitsDeliveries: false,
  trustsConfirms: false,
  emptiesNullBodies: false,
  leavesPositions: false,
  trustsTheFence: false,
};
