import { HubError } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import { type ContainerOwner, hubLabel, nameLabel } from '../container/labels.ts';
import { volumeName } from '../container/options.ts';
import type { Engine } from '../engine/engine.ts';

type Needs = { readonly engine: Pick<Engine, 'findVolume'>; readonly owner: ContainerOwner };

/**
 * Rejects with HUB_LAUNCH_INVALID if a volume of a server belongs to another hub: the volume `test-data` of the hub
 * `agenthub` has the same name on the engine as the volume `data` of the hub `agenthub-test`.
 */
export async function refuseForeignVolumes(
  { server }: Pick<LaunchSpec, 'server'>,
  { volumes }: Pick<DockerTarget, 'volumes'>,
  { engine, owner }: Needs,
): Promise<void> {
  for (const volume of volumes) {
    const name = volumeName(owner, volume);
    const labels = (await engine.findVolume(name))?.labels ?? {};
    const hubName = labels[nameLabel];
    if (hubName === undefined || hubName === owner.hubName || labels[hubLabel] === owner.hubId)
      continue;
    throw new HubError(
      'HUB_LAUNCH_INVALID',
      `${server}: the volume ${name} belongs to the hub ${hubName}. Choose another name than ${JSON.stringify(volume.name)} in "volumes", or give this hub another HUB_NAME`,
      { data: { server } },
    );
  }
}
