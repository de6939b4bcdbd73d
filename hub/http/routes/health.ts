import type { FastifyInstance } from 'fastify';
import type { Agents } from '#agents';
import type { AuditStatus } from '#audit';
import { type JsonObject, messageOf } from '#core';
import type { HealthReport, PartHealth } from '#dashboard';
import type { ModelsStatus } from '#models';
import type { SharingStatus } from '#resilience';
import { type Running, type Server, type Servers, needAnswer, runtimeOf } from '#servers';
import type { CallToken } from '../guard.ts';
import type { ConfigControl, HttpNeeds, PromptHealth, Prompts } from '../http-needs.ts';
import type { Named } from './input.ts';

type Needs = Pick<
  HttpNeeds,
  'servers' | 'transports' | 'hub' | 'access' | 'prompts' | 'telemetry' | 'system'
>;

type Engine = HttpNeeds['hub']['engine'];

/** The answer of `/health`, and whether the hub is usable. */
type HubHealth = {
  readonly usable: boolean;
  readonly answer: HealthReport & { readonly [part: string]: unknown };
};

/**
 * Adds `/health` and `/health/{server}`: 200 if usable, else 503 (spec 1.5). Returns a function that computes the
 * answer of `/health`.
 */
export function healthRoutes(app: FastifyInstance, needs: Needs): () => Promise<HubHealth> {
  const { servers, hub, transports } = needs;
  const { clock } = needs.system;
  const startedAt = clock.monotonic();
  /** Duration of the last ping, in milliseconds. Absent until the first ping after a start. */
  const latencies = new WeakMap<Running, number>();

  function healthOf({ config, status, restarts, lastError, running }: Server): JsonObject {
    return {
      state: status.state,
      backend: backendOf(config, hub.engine),
      latency_ms: (running && latencies.get(running)) ?? null,
      restart_count: restarts,
      last_error: lastError?.message ?? null,
    };
  }

  async function look(): Promise<HubHealth> {
    const before = clock.monotonic();
    const engine = { ...hub.engine, ...(await hub.engine.probe()) };
    const latencyMs = clock.monotonic() - before;
    const health = needs.prompts?.health;
    const prompts = health && (await promptParts(health));
    const config = hub.config.status();
    const breakers = hub.sharing.status;
    const limits = hub.limits?.();
    const data = dataPart(await servers.unwritten());
    const audit = await needs.telemetry.audit?.status();
    const ofPins = hub.pins?.fault();
    const callToken = needs.access?.callToken?.();
    const enabled = servers.all.filter(({ config }) => config.enabled);
    const isNeeded = enabled.some(({ config }) => backendOf(config, engine) === 'docker');
    const wanted = enabled.filter(({ config }) => config.autoStart);
    const usable =
      (engine.healthy || engine.backend === 'process' || !isNeeded) &&
      (wanted.length === 0 || wanted.some(server => !isDown(server)));
    const well =
      (engine.healthy || !isNeeded) &&
      config.error === undefined &&
      breakers.kind !== 'degraded' &&
      limits?.kind !== 'degraded' &&
      prompts?.isWell !== false &&
      data.state === 'up' &&
      ofPins === undefined &&
      audit?.kind !== 'failing' &&
      !servers.all.some(isDown);
    const answer: HubHealth['answer'] = {
      status: !usable ? 'down' : well ? 'ok' : 'degraded',
      version: hub.version,
      uptime_seconds: Math.round((clock.monotonic() - startedAt) / 1000),
      sessions: transports.streamable.sessionCount + transports.connections.size,
      parts: {
        engine: {
          ...partOf(engine.healthy ? 'up' : 'down', engine.backend, detailOf(engine)),
          latency_ms: round(latencyMs),
        },
        config: configPart(config),
        breakers: sharingPart(breakers),
        ...(limits && { limits: sharingPart(limits) }),
        data,
        ...(ofPins !== undefined && { pins: partOf('degraded', 'files', ofPins) }),
        ...(audit && { audit: auditPart(audit) }),
        ...(callToken && { calls: callsPart(callToken) }),
        ...prompts?.parts,
      },
      ...(hub.agents && { agents: agentsOf(hub.agents) }),
      servers: Object.fromEntries(
        servers.all.map(server => [server.config.name, healthOf(server)] as const),
      ),
    };
    return { usable, answer };
  }

  app.get('/health', async (_request, reply) => {
    const { usable, answer } = await look();
    return await reply.code(usable ? 200 : 503).send(answer);
  });

  app.get<Named>('/health/:name', async (request, reply) => {
    const server = servers.get(request.params.name);
    const { name } = server.config;
    const { running } = server;
    const before = clock.monotonic();
    try {
      if (running) await needAnswer(running, hub.version, pingTimeoutMs);
      else if (!isLazy(server)) reply.code(503);
    } catch (error) {
      reply.code(503);
      return { name, ...healthOf(server), last_error: messageOf(error) };
    }
    if (running) latencies.set(running, round(clock.monotonic() - before));
    return { name, ...healthOf(server) };
  });

  return look;
}

const agentsOf = (agents: Pick<Agents, 'list'>): JsonObject =>
  Object.fromEntries(
    agents.list().map(({ id, status, queued }) => [id, { state: status, queued }] as const),
  );

const partOf = (state: string, backend: string, detail?: string) => ({
  state,
  backend,
  ...(detail !== undefined && { detail }),
});

const configPart = ({ loadedAt, error }: ReturnType<ConfigControl['status']>) => ({
  ...partOf(error === undefined ? 'up' : 'degraded', 'files', error),
  loaded_at: new Date(loadedAt).toISOString(),
});

/** Describes the saved state of the hub, which its next run reads. */
function dataPart([first, ...others]: Awaited<ReturnType<Servers['unwritten']>>) {
  if (!first) return partOf('up', 'files');
  const more = others.length > 0 ? `, and ${others.length} more` : '';
  const detail = `${first.file} cannot be written${more}: ${first.reason}. Servers go on; a later run of the hub may not know of them`;
  return partOf('degraded', 'files', detail);
}

/** Describes whether each call gets its line in the audit log. */
function auditPart(status: AuditStatus) {
  if (status.kind !== 'failing') return partOf(status.kind, 'files');
  const lost = status.lost > 0 ? `. ${status.lost} lines are lost so far` : '';
  return partOf('degraded', 'files', `the audit log cannot be written: ${status.reason}${lost}`);
}

/** Describes where the state of breakers, or the counts of limits, are stored and shared. */
function sharingPart(status: SharingStatus) {
  if (status.kind === 'alone') return partOf('up', 'memory');
  const since = new Date(status.since).toISOString();
  return status.kind === 'shared'
    ? { ...partOf('up', 'redis'), since }
    : { ...partOf('degraded', 'memory', status.reason), since };
}

/** Describes why calls require a token although ROUTER_TOKEN is not set. */
const callsPart = ({ why }: CallToken) =>
  partOf(
    'up',
    'token',
    `calls need a token: ${why}. "agenthub connect" writes it into the files of clients`,
  );

const pingTimeoutMs = 5_000;

/** True if the server is in a state that it will not leave soon by itself. */
const isDown = ({ status, config }: Server) =>
  config.enabled && (status.state === 'failed' || status.state === 'unreachable');

/** True if the next call starts this stopped server. */
const isLazy = ({ status, config }: Server) =>
  config.enabled && status.state === 'stopped' && !status.byHand;

const backendOf = ({ launch }: Server['config'], engine: Engine) =>
  launch.kind === 'remote' ? 'remote' : runtimeOf(launch, engine.backend);

/** Describes the engine. The backend is chosen at start: servers that run as processes then stay processes. */
function detailOf({ backend, healthy, detail }: Engine & Awaited<ReturnType<Engine['probe']>>) {
  if (backend === 'docker') return detail;
  return healthy
    ? `${detail} was not there when the hub started: servers without an image run as processes, not isolated, until it is started again`
    : `servers run as processes, not isolated: ${detail}`;
}

const round = (milliseconds: number) => Math.round(milliseconds * 100) / 100;

/** Describes the parts of the enhancer. The hub is usable without any of them: prompts are then returned unchanged. */
export async function promptParts({ rules, loaded }: PromptHealth) {
  const { from, loadedAt, error } = rules();
  const well = partOf('up', from === 'file' ? 'file' : 'built in');
  const rulesPart = {
    ...well,
    loaded_at: new Date(loadedAt).toISOString(),
    ...(error &&
      partOf('degraded', well.backend, `the last good ones are in force: ${error.message}`)),
  };
  const prompts = await loaded();
  const { exact, semantic } = (await prompts?.enhancer.stats()) ?? {};
  const vectors = semantic?.vectors;
  const parts: Readonly<Record<string, PartHealth>> = {
    rules: rulesPart,
    ollama: prompts ? await modelsPart(prompts) : off,
    ...(exact && { l1: partOf(exact.status.kind, exact.backend, exact.status.error) }),
    ...(vectors && {
      l2: partOf(vectors.status, vectors.backend, vectors.error ?? vectors.detail),
    }),
  };
  const states = Object.values(parts).map(({ state }) => state);
  return { parts, isWell: !states.includes('down') && !states.includes('degraded') };
}

const off = partOf('off', 'none', 'prompts are given back unchanged: set OLLAMA_HOST');

function ollamaPart(status: ModelsStatus): PartHealth {
  if (status.kind === 'off') return off;
  if (status.kind === 'unknown') return partOf('unknown', 'ollama');
  if (status.kind === 'up')
    return {
      ...partOf('up', 'ollama', `Ollama ${status.version}`),
      latency_ms: round(status.latencyMs),
    };
  return partOf(status.kind === 'refused' ? 'degraded' : 'down', 'ollama', status.error);
}

/** Describes Ollama and the missing models. A missing model of the fallback chain is only a remark. */
async function modelsPart({ models, missing, fetching }: Omit<Prompts, 'enhancer'>) {
  const found = await missing.check();
  // The check for missing models probes Ollama.
  const part = ollamaPart(models.status);
  if (part.state !== 'up' || found.length === 0) return part;
  const { now, error } = fetching?.status ?? {};
  return {
    ...part,
    ...(found.some(({ use }) => use !== 'fallback') && { state: 'degraded' }),
    detail: [part.detail, ...found.map(({ message }) => message)].join('. '),
    missing_models: found.map(({ isPulled, ...one }) => ({ ...one, is_pulled: isPulled })),
    ...(now && {
      fetching: {
        model: now.model,
        status: now.status,
        ...(now.completedBytes !== undefined && { completed_bytes: now.completedBytes }),
        ...(now.totalBytes !== undefined && { total_bytes: now.totalBytes }),
      },
    }),
    ...(error !== undefined && { fetching_error: error }),
  };
}
