/** The bytes of a message, in one piece or several. */
export type Bytes = Buffer | readonly Buffer[];

export type CallSummary = {
  /** Increases with each recorded call. */
  readonly id: number;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly name: string | undefined;
  /** Undefined if the hub answered without a server. */
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  /** From arrival to answer, in milliseconds, with fractions. */
  readonly tookMs: number;
  /** The part of `tookMs` during which a server had the request. */
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or a HubError code. */
  readonly outcome: string;
  /** Full lengths of the messages in bytes, even where less is stored. */
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
  /** Milliseconds since the epoch: only calls that began later. */
  readonly since?: number;
  /** The name of a tool or prompt, or the URI of a resource, exactly as the client wrote it. */
  readonly tool?: string;
  readonly client?: string;
  readonly session?: string;
  /** An outcome, or `failed` for every outcome except `ok`. */
  readonly outcome?: string;
  /** Matches calls that have this text in their method, name, server, client or outcome, in any case of letters. */
  readonly text?: string;
  readonly before?: number;
  readonly after?: number;
};
