/** Decision of the policy about a call. Decisions are constants, so a call allocates none. */
export type Decision = {
  /** `confirm`: allowed, but a person has to approve each call of the tool. */
  readonly action: 'allow' | 'deny' | 'confirm';
  /** Path of the rule in the config, such as `policy[2]`; undefined if no rule matched: the call is allowed. */
  readonly rule: string | undefined;
  readonly reason?: string;
};
