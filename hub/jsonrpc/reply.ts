import { Buffer } from 'node:buffer';

/** The bytes of an answer; in pieces where one of them is kept, to be sent to others as it is. */
export type ReplyBytes = Buffer | readonly Buffer[];

/** The same in one piece. */
export function whole(reply: ReplyBytes): Buffer {
  return Buffer.isBuffer(reply) ? reply : Buffer.concat(reply);
}
