/** What the policy decided about a call. Decisions are constants: equal calls refer to one and make none. */
export type Decision = {
  /** `confirm`: allowed, but a person has to approve each call of the tool. */
  readonly action: 'allow' | 'deny' | 'confirm';
  /** Path of the rule in the config, such as `policy[2]`; undefined if no rule matched, which allows. */
  readonly rule: string | undefined;
  readonly reason?: string;
};
