/** What leads every key of the object's own tables. */
export interface GroupKey {
  readonly tenant: string;
  readonly topic: string;
  readonly group: string;
}
