import type { ContainerUsages } from '#dashboard';
import type { CachesStats } from '#enhance';
import type { Models } from '#models';
import type { Server, Servers } from '#servers';
import type { MetricFamily, Metrics, Sample } from '#telemetry';
import type { HttpNeeds } from './http-needs.ts';
import { breakerNumbers, counter, gauge, modelFamilies } from './model-metrics.ts';

/** Statistics of the prompt caches that are exported as metrics. */
export type CacheCounts = {
  readonly exact: Pick<CachesStats['exact'], 'hits' | 'misses' | 'joined' | 'errors' | 'entries'>;
  readonly semantic:
    | (Pick<SemanticStats, 'hits' | 'misses' | 'shadowHits' | 'errors'> & {
        readonly vectors: Pick<SemanticStats['vectors'], 'entries'>;
      })
    | undefined;
};
type SemanticStats = NonNullable<CachesStats['semantic']>;

type LoadedPrompts = {
  readonly enhancer: { readonly stats: () => Promise<CacheCounts> };
  readonly models: Pick<Models, 'metrics'>;
};

export type MetricFamiliesNeeds = {
  readonly servers: Pick<Servers, 'all'> & {
    readonly instances: Pick<Servers['instances'], 'list'>;
  };
  readonly transports: {
    readonly streamable: Pick<HttpNeeds['transports']['streamable'], 'sessionCount'>;
    readonly connections: Pick<HttpNeeds['transports']['connections'], 'size'>;
  };
  readonly hub: Pick<HttpNeeds['hub'], 'version' | 'residentBytes'>;
  /** The prompt enhancer. `loaded` is undefined until its first use. */
  readonly prompts?: {
    readonly health?: {
      readonly loaded: () => Promise<LoadedPrompts> | undefined;
      readonly models?: () => Promise<Pick<LoadedPrompts, 'models'>> | undefined;
    };
  };
  readonly telemetry: { readonly metrics: Pick<Metrics, 'families'> };
  readonly usages: ContainerUsages;
};

export async function readMetricFamilies(
  needs: MetricFamiliesNeeds,
): Promise<readonly MetricFamily[]> {
  const { servers, transports, hub } = needs;
  const [used, prompts] = await Promise.all([
    needs.usages.read(),
    promptFamilies(needs.prompts?.health),
  ]);
  const sessions = transports.streamable.sessionCount + transports.connections.size;
  const each = (read: (server: Server) => number | undefined): readonly Sample[] =>
    servers.all.flatMap(server => {
      const value = read(server);
      return value === undefined ? [] : [{ labels: { server: server.config.name }, value }];
    });
  function sum(base: Server, count: 'queued' | 'active'): number {
    const counts = [base, ...servers.instances.list(base)].map(
      one => one.admission.snapshot()[count],
    );
    return counts.reduce((total, one) => total + one, 0);
  }
  const one = (value: number): readonly Sample[] => [{ labels: {}, value }];
  return [
    ...needs.telemetry.metrics.families(),
    gauge(
      'agenthub_queue_waiting',
      'Calls that wait until the server has a place free.',
      each(server => sum(server, 'queued')),
    ),
    gauge(
      'agenthub_calls_in_flight',
      'Calls that have a place at the server.',
      each(server => sum(server, 'active')),
    ),
    gauge(
      'agenthub_breaker_state',
      'State of the circuit breaker of the server: 0 closed; 1 half open, one call is tried; 2 open, calls are refused.',
      each(({ admission }) => breakerNumbers.get(admission.snapshot().breaker?.['state'])),
    ),
    gauge(
      'agenthub_server_up',
      'Whether the server runs and answers.',
      each(({ status }) => (status.state === 'running' ? 1 : 0)),
    ),
    counter(
      'agenthub_server_restarts_total',
      'How often the server was started again after it ended by itself.',
      each(({ restarts }) => restarts),
    ),
    gauge('agenthub_sessions', 'Sessions and connections that are open.', one(sessions)),
    ...prompts,
    gauge(
      'agenthub_container_memory_bytes',
      'Memory of the containers of the server.',
      each(({ config }) => used.get(config.name)?.memoryBytes),
    ),
    counter(
      'agenthub_container_cpu_seconds_total',
      'Processor time of the containers of the server that run, since each was started.',
      each(({ config }) => seconds(used.get(config.name)?.cpuMs)),
    ),
    counter(
      'agenthub_egress_allowed_total',
      'Connections of the server to the network.',
      each(({ egress }) => egress?.allowed),
    ),
    counter(
      'agenthub_egress_blocked_total',
      'Connections that the server was refused, because its list does not have them or they lead to private places.',
      each(({ egress }) => egress?.blockedCount),
    ),
    gauge('process_resident_memory_bytes', 'Resident memory of the hub.', one(hub.residentBytes())),
    gauge('agenthub_build_info', 'Always 1; the version of the hub is its label.', [
      { labels: { version: hub.version }, value: 1 },
    ]),
  ];
}

const seconds = (milliseconds: number | undefined) =>
  milliseconds === undefined ? undefined : milliseconds / 1000;

/** Reads the metrics of the models and of the prompt caches; none until they are loaded. */
async function promptFamilies(
  promptHealth: NonNullable<MetricFamiliesNeeds['prompts']>['health'],
): Promise<readonly MetricFamily[]> {
  const prompts = await promptHealth?.loaded()?.catch(() => undefined); // The failed start is logged.
  const opened = prompts ?? (await promptHealth?.models?.()?.catch(() => undefined)); // As above.
  if (!opened) return [];
  const stats = await prompts?.enhancer.stats().catch(() => undefined); // Metrics must not fail with the cache.
  return [...modelFamilies(opened.models.metrics()), ...(stats ? cacheFamilies(stats) : [])];
}

function cacheFamilies({ exact, semantic }: CacheCounts): readonly MetricFamily[] {
  const requests = {
    l1: { hit: exact.hits, miss: exact.misses, joined: exact.joined, error: exact.errors },
    l2: semantic && {
      hit: semantic.hits,
      miss: semantic.misses,
      shadow_hit: semantic.shadowHits,
      error: semantic.errors,
    },
  };
  const entries = { l1: exact.entries, l2: semantic?.vectors.entries };
  return [
    counter(
      'agenthub_cache_requests_total',
      'Look-ups in the caches of prompts by their result: l1 has equal prompts, l2 prompts of the same meaning.',
      Object.entries(requests).flatMap(([tier, results]) =>
        Object.entries(results ?? {}).map(([result, value]) => ({
          labels: { tier, result },
          value,
        })),
      ),
    ),
    gauge(
      'agenthub_cache_entries',
      'Results that are kept.',
      Object.entries(entries).flatMap(([tier, value]) =>
        value === undefined ? [] : [{ labels: { tier }, value }],
      ),
    ),
  ];
}
