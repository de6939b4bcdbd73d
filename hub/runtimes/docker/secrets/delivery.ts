import { HubError } from '#core';
import type { DockerTarget, Instance, LaunchSpec } from '#runtimes';
import { type CreateNeeds, createContainer } from '../container/create.ts';
import { exitOf } from '../container/instance.ts';
import type { Names } from '../container/names.ts';
import { type Image, createOptions, nameOf, temporarySpec } from '../container/options.ts';
import { isThroughShim, secretsOf, shell, throughShim } from './shim.ts';

type Needs = CreateNeeds & { readonly names: Pick<Names, 'hold'> };

/** A launch. `line` must be written to the stdin of the container before all messages. */
type Planned = {
  readonly spec: LaunchSpec;
  readonly target: DockerTarget;
  readonly secrets?: Instance['secrets'];
  readonly line?: Buffer;
};

/** Instance name of the container that tests the shell. Does not collide with the numbered instances of sessions. */
const trialInstance = 'shell';
/** Timeout in ms for the test of a shell. */
const trialMs = 20_000;
/** Fails if `printf` is not built into the shell: the arguments of a program, here the secrets, would be visible. */
const trial = `[ "$(command -v printf)" = printf ] || exit 64`;
/** Exit codes of the test, and of docker-init if the shell is absent or cannot be executed. */
const unsuitable: readonly number[] = [64, 126, 127];

/**
 * Decides how containers receive the variables that contain secrets (decisions/0022): by stdin if the image has a
 * shell, which is tested once per image, otherwise in their environment, which `docker inspect` shows.
 */
export function createSecretDelivery(needs: Needs) {
  const { engine, log, owner, names } = needs;
  const known = new Map<string, Promise<boolean>>();

  /** Tests the shell of an image in a container without secrets, mounts and network. */
  async function tryShell(spec: LaunchSpec, target: DockerTarget, image: Image): Promise<boolean> {
    const bare: DockerTarget = {
      ...target,
      command: shell,
      args: ['-c', trial],
      network: 'none',
      mounts: [],
      volumes: [],
    };
    const { server } = spec;
    const tried = temporarySpec(server, trialInstance, bare);
    const name = nameOf(owner, tried);
    await using made = names.hold(name);
    const id = await createContainer(name, createOptions(owner, tried, bare, image), tried, needs);
    made.add(`container ${name}`, () => engine.removeContainer(id));
    await engine.startContainer(id);
    await engine.waitForContainer(id, trialMs);
    const state = (await engine.findContainer(id))?.state;
    if (state?.exitCode === 0) return true;
    if (!state || !unsuitable.includes(state.exitCode)) {
      const { memoryBytes } = target.limits;
      const detail = state
        ? exitOf(state.exitCode, { ...state, memoryBytes }).detail
        : 'removed by someone else';
      throw new HubError(
        'HUB_SERVER_START_FAILED',
        `${server}: the shell of its image, which is to receive its secrets, could not be tried: ${detail}`,
        { data: { server } },
      );
    }
    log.warn(
      { server, image: image.reference },
      'the image has no shell that can receive secrets, so they are in the environment of its containers, where "docker inspect" shows them',
    );
    return false;
  }

  async function hasShell(spec: LaunchSpec, target: DockerTarget, image: Image): Promise<boolean> {
    // Images of packages are built on Debian, which has a shell.
    if ('package' in target.image) return true;
    const found = known.get(image.id) ?? tryShell(spec, target, image);
    known.set(image.id, found);
    try {
      return await found;
    } catch (error) {
      known.delete(image.id);
      throw error;
    }
  }

  return {
    /**
     * Returns what to launch so that the server receives its secrets, and how it receives them. Rejects with
     * HUB_LAUNCH_INVALID for variables that cannot be passed to it.
     */
    async plan(spec: LaunchSpec, target: DockerTarget, image: Image): Promise<Planned> {
      if (Object.keys(secretsOf(spec)).length === 0) return { spec, target };
      const wrapped = (await hasShell(spec, target, image)) && throughShim(spec, target, image);
      return wrapped ? { ...wrapped, secrets: 'stdin' } : { spec, target, secrets: 'environment' };
    },
  };
}

/**
 * Returns how a running container received its secrets, judging by its command line. Undefined if it has no secrets.
 */
export function deliveryOf(
  { secretEnv }: LaunchSpec,
  command: readonly string[],
): Instance['secrets'] {
  if (!secretEnv?.length) return undefined;
  return isThroughShim(command) ? 'stdin' : 'environment';
}
