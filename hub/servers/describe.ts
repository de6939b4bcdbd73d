import { type JsonObject, withoutSecrets } from '#core';
import type { EgressReport } from '#runtimes';
import { leftOutOf } from './listing/listing-cache.ts';
import { unkeptToolsOf } from './listing/tool-hints.ts';
import type { Server } from './server-types.ts';

const timeOf = (ms: number) => new Date(ms).toISOString();

/**
 * Returns a server as JSON, for the API and the resource `hub://servers`, without values of its environment or headers.
 */
export function describeServer(server: Server): JsonObject {
  const { config, status, running, health, listing, lastError, refusedEntry, egress } = server;
  const { breaker, queued } = server.admission.snapshot();
  const { launch } = config;
  const misfits = server.misfits();
  const unknownTools = unknownToolsOf(server);
  const unkeptTools = unkeptToolsOf(server);
  return {
    name: config.name,
    ...(config.description !== undefined && { description: config.description }),
    tags: config.tags,
    enabled: config.enabled,
    auto_start: config.autoStart,
    ...(config.isManual && { start: 'manual' }),
    state: status.state,
    ...(status.state === 'starting' && { progress: status.progress }),
    ...('why' in status && { why: status.why }),
    ...(status.state === 'running' && { started_at: timeOf(status.since) }),
    ...('until' in status && { retry_at: timeOf(status.until) }),
    ...(status.state === 'stopped' && { stopped_by_hand: status.byHand }),
    restart_count: server.restarts,
    last_error: lastError
      ? {
          at: timeOf(lastError.at),
          message: lastError.message,
          ...(lastError.line !== undefined && { line: lastError.line }),
          ...(lastError.stderr && { stderr: lastError.stderr }),
        }
      : null,
    ...(config.heldBack !== undefined && !refusedEntry && { waiting: config.heldBack }),
    // The other fields describe the old entry, which is still applied.
    ...(refusedEntry && {
      refused_entry: { at: timeOf(refusedEntry.at), message: refusedEntry.error.message },
    }),
    ...(running && {
      instance: running.instance.about,
      ...(running.instance.secrets && { secrets: running.instance.secrets }),
      server_info: running.serverInfo.implementation,
      protocol_version: running.serverInfo.protocolVersion,
      era: running.serverInfo.era,
      in_flight: running.upstream.inFlight(),
    }),
    ...(health && {
      health: {
        asked_at: health.at === undefined ? null : timeOf(health.at),
        latency_ms:
          health.latencyMs === undefined ? null : Math.round(health.latencyMs * 100) / 100,
        misses: health.misses,
      },
    }),
    queued,
    ...(breaker && { breaker }),
    instance_mode: config.instance,
    ...(config.instance === 'session' && { instances: server.instances }),
    ...(egress && { egress: describeEgress(egress) }),
    ...(server.advice.length > 0 && { advice: server.advice }),
    ...(misfits.length > 0 && leftOutOf(misfits)),
    ...(unknownTools.length > 0 && { unknown_tools: unknownTools }),
    ...(unkeptTools.length > 0 && { unkept_tools: unkeptTools }),
    source:
      launch.kind === 'remote'
        ? { url: withoutSecrets(launch.url), transport: launch.transport }
        : {
            ...(launch.package && { package: launch.package.spec }),
            ...(launch.own !== undefined && { package: `agenthub:${launch.own}` }),
            ...(launch.image !== undefined && { image: launch.image }),
            ...(launch.build && { build: launch.build.folder }),
            ...(launch.systemPackages && { system_packages: launch.systemPackages }),
            ...(launch.command !== undefined && { command: launch.command }),
          },
    tools: listing.tool.length,
    resources: listing.resource.length,
    resource_templates: listing.template.length,
    prompts: listing.prompt.length,
  };
}

const describeEgress = ({ allowed, blockedCount, blocked }: EgressReport) => ({
  allowed,
  blocked_count: blockedCount,
  blocked: blocked.map(({ target, why, count, lastAt }) => ({
    target,
    why,
    count,
    last_at: timeOf(lastAt),
  })),
});

/** Returns the names of the tools, resources and prompts of a server, for the server's page in the dashboard. */
export function describeListing(server: Server): JsonObject {
  const { listing } = server;
  return {
    tool_names: listing.tool.map(item => item.key),
    resource_uris: listing.resource.map(item => item.key),
    resource_template_uris: listing.template.map(item => item.key),
    prompt_names: listing.prompt.map(item => item.key),
  };
}

/**
 * Returns the tools named in `tools` and `cache` of the config that the server does not list; [] while its list is
 * unknown.
 */
export function unknownToolsOf({ config, listing }: Pick<Server, 'config' | 'listing'>) {
  const { allow = [], deny = [], rename = {}, describe = {} } = config.tools ?? {};
  const kept = config.cache?.tools ?? [];
  if ((!config.tools && !config.cache) || listing.tool.length === 0) return [];
  const literals = [...allow, ...deny].filter(name => !name.includes('*'));
  const names = new Set([...literals, ...Object.keys(rename), ...Object.keys(describe), ...kept]);
  for (const { key } of listing.tool) names.delete(key);
  return [...names];
}
