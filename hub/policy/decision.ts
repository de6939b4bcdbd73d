/** What the policy decided about a call. Decisions are constants: equal calls refer to one and make none. */
export type Decision = {
  readonly action: 'allow' | 'deny';
  /** Path of the rule in the config, such as `policy[2]`; undefined if no rule matched, which allows. */
  readonly rule: string | undefined;
  readonly reason?: string;
};
