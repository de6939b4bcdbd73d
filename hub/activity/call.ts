/** A message as bytes, in one or several pieces. */
export type Bytes = Buffer | readonly Buffer[];

export type CallSummary = {
  /** Number of the call. Later calls have larger numbers. */
  readonly id: number;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly name: string | undefined;
  /** Undefined if the hub itself answered. */
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  /** Time from the arrival of the request to its answer, in milliseconds, with fractions. */
  readonly tookMs: number;
  /** Part of `tookMs` that the server took, in milliseconds. */
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or a HubError code. */
  readonly outcome: string;
  /** Full sizes of the messages in bytes, even if less is stored. */
  readonly requestBytes: number;
  readonly replyBytes: number;
};

/** A stored message with secrets removed. */
export type Payload = {
  readonly text: string;
  /** True if only the beginning of the message is stored. */
  readonly isCut: boolean;
};

/** A call with its messages. Both are undefined once newer calls have overwritten them. */
export type CallDetail = CallSummary & {
  readonly request: Payload | undefined;
  readonly reply: Payload | undefined;
};

/** A call to be recorded. The bytes are copied, up to the configured limit. */
export type CallRecord = Omit<CallSummary, 'id' | 'requestBytes' | 'replyBytes'> & {
  readonly request: Bytes;
  readonly reply: Bytes;
};

/** Selects calls. A call must match every field that is set. */
export type ActivityFilter = {
  readonly server?: string;
  readonly method?: string;
  /** Selects calls that began after this time, in milliseconds since the epoch. */
  readonly since?: number;
  /** Name of the tool or prompt, or URI of the resource, exactly as in the client's request. */
  readonly tool?: string;
  readonly client?: string;
  readonly session?: string;
  /** An outcome, or `failed` for all outcomes except `ok`. */
  readonly outcome?: string;
  /** Text that must occur in the method, name, server, client or outcome. Case-insensitive. */
  readonly text?: string;
  readonly before?: number;
  readonly after?: number;
};
