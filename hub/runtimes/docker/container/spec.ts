import { HubError } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';

/** The target of a spec for the Docker runtime. */
export function targetOf(spec: LaunchSpec): DockerTarget {
  if (spec.target.kind === 'docker') return spec.target;
  throw new HubError('HUB_INTERNAL', `${spec.server} is not a server for the Docker runtime`);
}

export function throwIfCancelled(spec: LaunchSpec, signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof HubError) throw signal.reason;
  throw new HubError('HUB_CALL_CANCELLED', `the start of ${spec.server} was cancelled`, {
    cause: signal.reason,
    data: { server: spec.server },
  });
}
