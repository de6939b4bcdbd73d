import { refusal, show } from './refusal.ts';

/**
 * Names of images that hubs build. The engine does not distinguish them from images in the same namespace on docker.io.
 */
const builtByHubs =
  /^(?:(?:index\.)?docker\.io\/)?agenthub\/(?:(?:npm|python|system|build)-|(?:egress|agent|git|ollama-mcp)(?::|$))/;

/**
 * Throws HUB_BROKER_REFUSED unless the engine would pull this image from one of the registries, and under a name that
 * no hub builds: the broker trusts images with such names, and all hubs of the engine share them.
 */
export function checkRegistry(image: string, registries: readonly string[]): void {
  const registry = registryOf(image);
  if (!registries.includes(registry))
    throw refusal(
      `a pull from ${show(registry)}, which is none of ${registries.join(', ')}. ` +
        'Add it to AGENTHUB_REGISTRIES (without the compose files: BROKER_REGISTRIES of the broker), ' +
        `or pull the image yourself (docker pull ${image})`,
    );
  if (builtByHubs.test(image))
    throw refusal(
      `a pull of ${show(image)}: hubs build images of this name. Give yours another one`,
    );
}

/** Returns the registry host of an image by the engine's rule: the part before the first slash, if it can be a host. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  if (rest.length === 0 || !isHost || first === 'index.docker.io') return 'docker.io';
  return first.toLowerCase();
}
