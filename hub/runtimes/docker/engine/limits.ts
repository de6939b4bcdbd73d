import { type Log, messageOf } from '#core';
import type { Engine } from './engine.ts';

type Limiter = Pick<Engine, 'limits' | 'address'>;

/**
 * Returns a sentence that names the limits of servers that an engine ignores; undefined if it keeps all. A rootless
 * engine without cgroups accepts limits without a warning. Rejects with HubError if the engine does not tell.
 */
export async function findIgnoredLimits(engine: Limiter): Promise<string | undefined> {
  const { memory, cpus, pids } = await engine.limits();
  const ignored = [memory ? [] : 'memory', cpus ? [] : 'cpus', pids ? [] : 'pids'].flat();
  if (ignored.length === 0) return undefined;
  const names = new Intl.ListFormat('en-GB').format(ignored.map(name => `"${name}"`));
  return `the Docker engine at ${engine.address} ignores the limits ${names} of all servers, so one server can use up this machine. Give the engine these controllers of cgroup v2 (docs/troubleshoot.md)`;
}

/** Creates a function that warns of limits that the engine ignores, once for each set of limits. It never rejects. */
export function createLimitWarning({
  engine,
  log,
}: {
  readonly engine: Limiter;
  readonly log: Log;
}) {
  let told: string | undefined;
  return async (): Promise<void> => {
    try {
      const found = await findIgnoredLimits(engine);
      if (found !== undefined && found !== told) log.warn({ engine: engine.address }, found);
      told = found;
    } catch (error) {
      log.debug({ problem: messageOf(error) }, 'the engine did not tell which limits it keeps');
    }
  };
}
