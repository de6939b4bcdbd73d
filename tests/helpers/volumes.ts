import { setTimeout } from 'node:timers/promises';
import Docker from 'dockerode';
import { engineHost } from './engine-probe.ts';

/** Removes the volumes of a hub that has exited. Volumes outlive a hub, as they contain the data of its servers. */
export async function removeVolumes(hubName: string, host = engineHost): Promise<void> {
  const docker = new Docker({ socketPath: host.replace('unix://', '') });
  const filters = JSON.stringify({ label: [`io.agenthub.name=${hubName}`] });
  const { Volumes } = await docker.listVolumes({ filters });
  for (const { Name } of Volumes) {
    const volume = docker.getVolume(Name);
    for (const end = Date.now() + 10_000; ;)
      try {
        await volume.remove();
        break;
      } catch (error) {
        // The engine may still be removing the container of this volume.
        if (!/in use/.test(String(error)) || Date.now() > end) throw error;
        await setTimeout(100);
      }
  }
}
