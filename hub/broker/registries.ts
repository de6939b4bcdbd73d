import { HubError } from '#core';
import { refusal, show } from './refusal.ts';

/** The registries of most public MCP server images. */
const defaultRegistries = [
  'docker.io',
  'ghcr.io',
  'quay.io',
  'mcr.microsoft.com',
  'registry.gitlab.com',
  'public.ecr.aws',
];

const hostPattern = /^(?:[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** Splits a comma-separated list. */
export const splitList = (text = ''): readonly string[] =>
  text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');

/** Parses a list of registry hosts. Default: the usual registries. Throws HUB_CONFIG_INVALID for an invalid host. */
export function readRegistries(text: string | undefined): readonly string[] {
  const names = splitList(text?.toLowerCase());
  const bad = names.find(name => !hostPattern.test(name));
  if (bad !== undefined)
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `AGENTHUB_REGISTRIES, which is BROKER_REGISTRIES here: ${show(bad)} is not a registry. ` +
        'Name hosts such as ghcr.io or registry.example:5000, with commas between them',
    );
  return names.length === 0 ? defaultRegistries : names;
}

/** Throws HUB_BROKER_REFUSED unless the engine would pull this image from one of the registries. */
export function checkRegistry(image: string, registries: readonly string[]): void {
  const registry = registryOf(image);
  if (registries.includes(registry)) return;
  throw refusal(
    `a pull from ${show(registry)}, which is none of ${registries.join(', ')}. ` +
      'Add it to AGENTHUB_REGISTRIES (without the compose files: BROKER_REGISTRIES of the broker), ' +
      `or pull the image yourself (docker pull ${image})`,
  );
}

/** The registry host of an image by the engine's rule: the part before the first slash, if it can be a host. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  if (rest.length === 0 || !isHost || first === 'index.docker.io') return 'docker.io';
  return first.toLowerCase();
}
