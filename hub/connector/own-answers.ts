import { retryable } from '#core';
import { encodeError, encodeResult, errorAnswer, rpcCodes } from '#jsonrpc';

/** Delay in ms before the bridge connects to the hub again, and before a client should repeat a request. */
export const firstRetryMs = 200;

/** Returns the answer to a client's request while no hub is connected. Answers `ping` in place of the hub. */
export const answerMeanwhile = (method: string, id: string): Buffer =>
  method === 'ping'
    ? encodeResult(id, '{}')
    : errorAnswer(
        id,
        away('the hub is away. The bridge reconnects when it is back: try again then'),
      );

export const away = (message: string) =>
  retryable('HUB_CONNECT_FAILED', message, { retryAfterMs: firstRetryMs });

export const busy = (unanswered: number) =>
  retryable('HUB_SERVER_BUSY', `${unanswered} requests are unanswered. Try again later`);

/** The answer to a batch in a session whose revision does not allow batches. */
export const noBatches: Buffer = encodeError(
  'null',
  rpcCodes.invalidRequest,
  'MCP has no batches since 2025-06-18',
  { code: 'HUB_REQUEST_INVALID' },
);
