import type { Server } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type ModelSource, modelErrorOf } from './models-types.ts';
import { modelList, runResult } from './results.ts';

/** MCP capability that a hub declares if it answers requests for models. */
const capability = 'agenthub/models';

/** Time in ms added to the timeout of a request, so that it only ends requests that the hub has lost. */
const graceMs = 5_000;
const listMs = 15_000;

export const isHub = (server: Server): boolean =>
  Object.hasOwn(server.getClientCapabilities()?.experimental ?? {}, capability);

/** Creates access to the models of the hub, by requests on the MCP connection on which the hub sends its requests. */
export function createHubModels(server: Server): ModelSource {
  return {
    run: ({ timeoutMs, ...request }, progress, signal) =>
      asked(
        server.request(
          { method: 'agenthub/models/run', params: { ...request, timeoutMs } },
          runResult,
          {
            timeout: timeoutMs + graceMs,
            signal,
            ...(progress && { onprogress: ({ message }) => progress(message ?? '') }),
          },
        ),
      ),
    list: signal =>
      asked(
        server.request({ method: 'agenthub/models/list', params: {} }, modelList, {
          timeout: listMs,
          signal,
        }),
      ),
  };
}

const hubError = z.looseObject({
  code: z.string().optional(),
  kind: z.string().optional(),
  retryAfterMs: z.number().optional(),
});

async function asked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const data: unknown = error instanceof Error && 'data' in error ? error.data : undefined;
    const message = error instanceof Error ? error.message : String(error);
    const isLate = error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT';
    throw modelErrorOf(message.replace(/^MCP error -?\d+: /, ''), {
      ...hubError.safeParse(data).data,
      ...(isLate && { kind: 'timeout' }),
    });
  }
}
