import type { Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import type { Images } from '../image/images.ts';
import { declaredVolumes } from '../volumes/declared.ts';
import { createAttachment } from './attach.ts';
import { readHandle } from './instance.ts';
import { digestLabel, hubLabel } from './labels.ts';
import type { Names } from './names.ts';
import { type Owner, nameOf } from './options.ts';
import type { Run } from './run.ts';
import { targetOf, throwIfCancelled } from './spec.ts';

type Needs = {
  readonly engine: Engine;
  readonly owner: Owner;
  readonly names: Names;
  readonly images: Pick<Images, 'find'>;
  readonly run: Run;
};

/**
 * Adopts the container of a handle if it is still what the spec would launch; otherwise removes it and resolves with
 * undefined. When `late` aborts, the engine has taken too long: the container is left for a later adoption.
 */
export async function adopt(
  spec: LaunchSpec,
  handle: string,
  report: LaunchEvents,
  { signal, late }: { readonly signal: AbortSignal; readonly late: AbortSignal },
  { engine, owner, names, images, run }: Needs,
): Promise<Instance | undefined> {
  const target = targetOf(spec);
  const name = nameOf(owner, spec);
  const { id, startedAt } = readHandle(handle);
  const found = await engine.findContainer(id);
  late.throwIfAborted();
  if (found?.labels[hubLabel] !== owner.hubId || names.has(name)) return undefined;
  await using made = names.hold(name);
  const image = await images.find(target.image);
  const isSame =
    found.name === name &&
    found.state.isRunning &&
    found.state.startedAt === startedAt &&
    spec.digest !== undefined &&
    found.labels[digestLabel] === spec.digest &&
    found.imageId === image?.id;
  late.throwIfAborted();
  const socket = isSame && !signal.aborted ? await engine.attach(id) : undefined;
  if (late.aborted) socket?.destroy();
  late.throwIfAborted();
  if (target.network === 'bridge') made.add(`network ${name}`, () => engine.removeNetwork(name));
  made.add(`container ${name}`, () => engine.removeContainer(id));
  throwIfCancelled(spec, signal);
  if (!image || !socket) return undefined;
  const attachment = createAttachment(socket, { ...spec, isTakenOver: true }, line =>
    report.stderr(line),
  );
  const volumes = [...target.volumes, ...declaredVolumes(spec, target, image)];
  const created = Promise.resolve(made.move());
  return run({ id, image, spec, target: { ...target, volumes }, attachment, created }, report);
}
