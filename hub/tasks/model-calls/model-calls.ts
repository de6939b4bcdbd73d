import type { TasksConfig } from '#config';
import {
  type Clock,
  HubError,
  type JsonObject,
  createAbortScope,
  durationText,
  unlessAborted,
} from '#core';
import { isSameModel } from '#models';
import type { Principal } from '#policy';
import { type Router, createPrincipalRequests } from '#routing';
import type { Server, Servers } from '#servers';
import { callErrorOf } from './call-errors.ts';
import type { ModelCalls } from './model-calls-types.ts';
import { listContent, readContent, runContent } from './tool-results.ts';

type ModelCallNeeds = {
  /** Returns the section `tasks` of the active config. */
  readonly config: () => TasksConfig;
  readonly servers: Pick<Servers, 'find'>;
  readonly router: Pick<Router, 'openSessionless'>;
  readonly clock: Clock;
};

const listMs = 20_000;
const second = 1_000;
/** Margin in ms: the server ends a call this long before the hub's timeout, unless the call is short. */
const marginMs = 5_000;

/** Creates the functions that call models for tasks: through the router, as the principal of the job. */
export function createModelCalls({ config, servers, router, clock }: ModelCallNeeds): ModelCalls {
  /** Resolves with the server of the config when it runs. The start does not count towards the timeout of a call. */
  async function ready(signal: AbortSignal): Promise<Server> {
    const { server: name } = config();
    const server = servers.find(name);
    if (!server)
      throw new HubError(
        'HUB_MODEL_CALL_PROTOCOL',
        `"tasks.server" is ${name}, and no server of that name is in the config. Add it: "${name}": {"package": "agenthub:ollama-mcp"}`,
        { data: { server: name } },
      );
    if (!server.config.enabled)
      throw new HubError(
        'HUB_MODEL_CALL_PROTOCOL',
        `"tasks.server" is ${name}, which is disabled. Enable it, or name another server`,
        { data: { server: name } },
      );
    await unlessAborted(server.ready(), signal);
    return server;
  }

  /** Calls a tool of the server. Rejects with the errors of `ModelCalls`. */
  async function call(
    job: string,
    { tool, args }: { readonly tool: string; readonly args: (limitMs: number) => JsonObject },
    limits: { readonly wantedMs: number; readonly progress?: ((text: string) => void) | undefined },
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const name = config().server;
    const principal: Principal = { kind: 'job', name: job, grants: { administer: false } };
    try {
      signal.throwIfAborted();
      const server = await ready(signal);
      const limitMs = Math.min(limits.wantedMs, server.config.callTimeoutMs);
      using scope = createAbortScope([signal], {
        clock,
        limitMs,
        reason: () =>
          new HubError(
            'HUB_MODEL_CALL_TIMEOUT',
            `${tool} of ${name} was not done within ${durationText(limitMs)}. ${remedyOf(name)}`,
            { data: { server: name } },
          ),
      });
      const params = { name: tool, arguments: args(limitMs) };
      const requests = createPrincipalRequests(principal, router);
      try {
        return await requests.request('tools/call', params, scope.signal, {
          endpoint: server,
          progress: limits.progress,
        });
      } catch (error) {
        throw scope.signal.aborted ? scope.signal.reason : error;
      }
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      throw callErrorOf(error, name);
    }
  }

  async function list(job: string, signal: AbortSignal) {
    const { server, listTool: tool } = config();
    const result = await call(job, { tool, args: () => ({}) }, { wantedMs: listMs }, signal);
    return readContent(result, listContent, { server, tool });
  }

  const check: ModelCalls['check'] = async (
    signal,
    { job = 'check', models: wanted = [] } = {},
  ) => {
    const { models, unavailable } = await list(job, signal);
    for (const model of wanted) {
      requireAllowed(model);
      if (models.some(({ name }) => name === model || isSameModel(name, model))) continue;
      const fault = unavailable.find(({ source }) => source === sourceOf(model, unavailable));
      if (fault) throw unreachable([fault]);
      throw new HubError(
        'HUB_MODEL_UNKNOWN',
        `no model ${model} is there. Get it with "ollama pull ${model}", or choose one of ${namesOf(models)}`,
      );
    }
    if (models.length === 0 && unavailable.length > 0) throw unreachable(unavailable);
  };

  function requireAllowed(model: string): void {
    const { models } = config();
    if (!models || models.some(one => one === model || isSameModel(one, model))) return;
    throw new HubError(
      'HUB_MODEL_UNKNOWN',
      `tasks may not use the model ${model}: add it to "tasks.models" in the config, or choose one of ${models.join(', ')}`,
    );
  }

  return {
    check,
    async run({ job, model, prompt, system, format, options, timeoutMs, onProgress }, signal) {
      requireAllowed(model);
      const { server, runTool: tool, timeoutMs: usualMs } = config();
      const wantedMs = Math.min(timeoutMs ?? usualMs, usualMs);
      let endsMs = Infinity;
      const args = (limitMs: number): JsonObject => {
        const ownMs = Math.max(1, Math.floor(limitMs - Math.min(marginMs, limitMs / 10)));
        endsMs = clock.monotonic() + ownMs;
        return {
          model,
          prompt,
          timeout: ownMs / second,
          ...(system !== undefined && { system }),
          ...(format && { format }),
          ...(options && { options }),
        };
      };
      try {
        const limits = { wantedMs, progress: onProgress };
        const result = await call(job, { tool, args }, limits, signal);
        const content = readContent(result, runContent, { server, tool });
        return {
          text: content.text,
          model: content.model,
          tokens: content.tokens,
          durationMs: content.durations?.total_ms ?? 0,
          doneReason: content.done_reason,
          thinkingOnly: content.thinking_only,
        };
      } catch (error) {
        if (signal.aborted) throw cancelled(signal);
        // A cut-off answer may mean that its server is down: then this check rejects with that error.
        if (error instanceof HubError && error.data['kind'] === 'cut_off')
          await check(signal, { job });
        // The server does not know the settings of its timeout. Before that time, another limit has ended the call.
        if (
          error instanceof HubError &&
          error.data['kind'] === 'timeout' &&
          clock.monotonic() >= endsMs
        )
          throw new HubError(error.code, `${error.message}. ${remedyOf(server)}`, {
            cause: error,
            data: error.data,
          });
        throw error;
      }
    },
  };
}

/** Returns the source of a model: the provider in its name, or Ollama. */
function sourceOf(model: string, unavailable: readonly { readonly source: string }[]): string {
  const [first = ''] = model.split('/', 1);
  const isProvider = model.includes('/') && unavailable.some(({ source }) => source === first);
  return isProvider ? first : 'ollama';
}

const unreachable = (sources: readonly { readonly source: string; readonly message: string }[]) =>
  new HubError(
    'HUB_OLLAMA_UNAVAILABLE',
    sources.map(({ source, message }) => `${source}: ${message}`).join('; '),
    { data: { retryable: true } },
  );

function cancelled(signal: AbortSignal): HubError {
  const { reason } = signal;
  return reason instanceof HubError
    ? reason
    : new HubError('HUB_CALL_CANCELLED', 'the call was cancelled', { cause: reason });
}

const remedyOf = (server: string) =>
  `Raise "tasks.timeout_seconds", and "timeout" of the entry ${server}`;

const maxNamed = 10;

const namesOf = (models: readonly { readonly name: string }[]): string =>
  models
    .slice(0, maxNamed)
    .map(({ name }) => name)
    .join(', ') || 'none: no model is there';
