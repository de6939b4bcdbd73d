import { Buffer } from 'node:buffer';

/** The bytes of a response. Consists of pieces if one of them is shared with other responses. */
export type ReplyBytes = Buffer | readonly Buffer[];

/** Joins the pieces. */
export function whole(reply: ReplyBytes): Buffer {
  return Buffer.isBuffer(reply) ? reply : Buffer.concat(reply);
}
