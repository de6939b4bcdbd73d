import type { Server } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type ModelSource, modelErrorOf } from './models-types.ts';
import { modelList, runResult } from './results.ts';

/** Declared by a hub that answers requests for models. */
const capability = 'agenthub/models';

/** The hub bounds its answers; this only ends a request that the hub has forgotten. */
const graceMs = 5_000;
const listMs = 15_000;

export const isHub = (server: Server): boolean =>
  Object.hasOwn(server.getClientCapabilities()?.experimental ?? {}, capability);

/** The models of the hub, by requests over the connection on which the hub sends its own. */
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
