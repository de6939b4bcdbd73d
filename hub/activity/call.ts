import type { Bytes } from './payloads.ts';

/** A request of a client that has been answered, without what it said. */
export type Call = {
  /** Counts up: of two calls the later one has the higher. */
  readonly id: number;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Of the tool or prompt, or the URI of the resource. */
  readonly name: string | undefined;
  /** Undefined where the hub answered by itself. */
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  /** In milliseconds, with fractions. */
  readonly tookMs: number;
  /** How much of that the server had it. */
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or the code of an error of the hub. */
  readonly outcome: string;
  /** How long the messages were, in bytes. */
  readonly requestBytes: number;
  readonly replyBytes: number;
};

/** A message, as far as it is kept, without what may be secret. */
export type Payload = {
  readonly text: string;
  /** It was longer than what is kept of it. */
  readonly isCut: boolean;
};

/** Both are undefined once newer calls have taken their place. */
export type CallDetail = Call & {
  readonly request: Payload | undefined;
  readonly reply: Payload | undefined;
};

/** What is told of a call. The bytes are copied as far as they are kept. */
export type Told = Omit<Call, 'id' | 'requestBytes' | 'replyBytes'> & {
  readonly request: Bytes;
  readonly reply: Bytes;
};

/** Which calls are wanted: those that meet all that is there. */
export type ActivityFilter = {
  readonly server?: string;
  /** The name of a tool or prompt, or the URI of a resource, as the client wrote it. */
  readonly tool?: string;
  readonly client?: string;
  readonly session?: string;
  /** An outcome; `failed` stands for all but `ok`. */
  readonly outcome?: string;
  /** Stands in the method, the name, the server, the client or the outcome, in small or capital letters. */
  readonly text?: string;
  /** Only calls before the one of this id. */
  readonly before?: number;
  /** Only calls after the one of this id. */
  readonly after?: number;
};
