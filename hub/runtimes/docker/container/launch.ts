import { type Log, HubError, messageOf } from '#core';
import type { DockerTarget, Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import type { VolumeBound } from '../volumes/bound.ts';
import type { ImageVolumes } from '../volumes/declared.ts';
import { createAttachment } from './attach.ts';
import { createContainer, createNetwork, toLaunchError } from './create.ts';
import type { Names } from './names.ts';
import { type Image, type Owner, createOptions, nameOf, userOf } from './options.ts';
import type { Run } from './run.ts';
import { targetOf, throwIfCancelled } from './spec.ts';

type Needs = {
  readonly engine: Engine;
  readonly log: Log;
  readonly owner: Owner;
  readonly names: Names;
  readonly imageVolumes: {
    placesOf(spec: LaunchSpec, target: DockerTarget, image: Image): Promise<ImageVolumes>;
  };
  readonly volumeBound: Pick<VolumeBound, 'check'>;
  readonly run: Run;
};

/**
 * Creates and starts a container. On failure it removes everything that it created. `signal` also aborts if the engine
 * takes too long.
 */
export async function launch(
  spec: LaunchSpec,
  image: Image,
  report: LaunchEvents,
  signal: AbortSignal,
  needs: Needs,
): Promise<Instance> {
  const { engine, names, owner } = needs;
  const target = targetOf(spec);
  const name = nameOf(owner, spec);
  throwIfCancelled(spec, signal);
  if (names.has(name))
    throw new HubError('HUB_CONTAINER_NAME_TAKEN', `${name} runs already. Stop it first`);

  await using made = names.hold(name);
  if (target.network === 'bridge') {
    const network = await createNetwork(spec, needs);
    made.add(`network ${network}`, () => engine.removeNetwork(network));
    throwIfCancelled(spec, signal);
  }
  // Without the signal: an aborted call may still create a container, whose id would be unknown.
  const { scratch, volumes } = await needs.imageVolumes.placesOf(spec, target, image);
  throwIfCancelled(spec, signal);
  const whole = { ...target, volumes: [...target.volumes, ...volumes] };
  await needs.volumeBound.check(spec, whole);
  logReplacedUser(spec, target, image, needs.log);
  const body = createOptions(owner, spec, whole, image, scratch);
  const id = await createContainer(name, body, spec, needs);
  made.add(`container ${name}`, () => engine.removeContainer(id));
  throwIfCancelled(spec, signal);

  const attachment = createAttachment(await engine.attach(id), spec, line => report.stderr(line));
  // The container may exit before the engine answers the start call.
  const created = Promise.withResolvers<AsyncDisposable>();
  const container = { id, image, spec, target: whole, attachment, created: created.promise };
  const instance = needs.run(container, report);
  try {
    await engine.startContainer(id, signal);
    throwIfCancelled(spec, signal);
  } catch (error) {
    attachment.end({ reason: messageOf(error) });
    created.resolve(new AsyncDisposableStack());
    throw toLaunchError(error, spec);
  }
  created.resolve(made.move());
  return instance;
}

function logReplacedUser(spec: LaunchSpec, target: DockerTarget, image: Image, log: Log): void {
  const user = userOf(target, image);
  if (target.user === undefined && user !== image.user && image.user !== '')
    log.info(
      { server: spec.server, image: image.reference, imageUser: image.user, user },
      'the user of the image may be root, so the container runs as another user. Set "user" to a number to change it',
    );
}
