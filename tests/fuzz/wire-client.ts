import type { TestHub } from '#helpers/hub';
import type { Generator } from './generate.ts';
import type { Speaker } from './params.ts';

/** A client on a transport that sends messages of any kind, and checks what it receives. */
export interface WireClient {
  /** Sends so many made messages, some of which may be unanswered yet then. Fails where more is answered. */
  send(count: number): Promise<void>;
  /** Resolves when all is answered that must be. Fails where it is not, or where more is. */
  settle(): Promise<void>;
  /** Leaves without a word, whatever is unanswered. */
  close(): void;
}

export type WireNeeds = {
  readonly speaker: Speaker;
  readonly generator: Generator;
  /** Fails where the bytes hold what is another's. */
  readonly check: (bytes: Buffer) => void;
};

/** Connects a client to one server, or to all of them where `server` is undefined. */
export type OpenWireClient = (
  hub: TestHub,
  server: string | undefined,
  needs: WireNeeds,
) => Promise<WireClient>;
