import type { TestHub } from '#helpers/hub';
import type { Generator } from './generate.ts';
import type { Speaker } from './params.ts';

/** A client on a transport, which sends messages of any kind and checks what it receives. */
export interface WireClient {
  /** Sends this number of generated messages, without waiting for all answers. Fails if there are too many answers. */
  send(count: number): Promise<void>;
  /** Resolves when all answers that are due have come. Fails if one is missing, or if there are too many. */
  settle(): Promise<void>;
  /** Disconnects at once, whatever is unanswered. */
  close(): void;
}

export type WireNeeds = {
  readonly speaker: Speaker;
  readonly generator: Generator;
  /** Fails if the bytes contain a secret of another client. */
  readonly check: (bytes: Buffer) => void;
};

/** Connects a client to one server, or to all servers if `server` is undefined. */
export type OpenWireClient = (
  hub: TestHub,
  server: string | undefined,
  needs: WireNeeds,
) => Promise<WireClient>;
