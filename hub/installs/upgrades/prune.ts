import type { ServerConfig } from '#config';
import type { DockerTarget, ImagePruning } from '#runtimes';
import { withoutSecretFaults } from '#servers';
import { packageOf } from './outdated.ts';

/** Images that the hub builds from its own folders. They are always needed. */
const ownImages: readonly DockerTarget['image'][] = [
  { context: 'agent' },
  { context: 'git' },
  { context: 'ollama-mcp' },
];

type Needs = {
  readonly images: ImagePruning;
  /** Returns the launch target of a config. Throws HubError if the config cannot be launched. */
  readonly specOf: (config: ServerConfig) => {
    readonly target: { readonly kind: string } | DockerTarget;
  };
};

/** Removes the hub's images that no config needs. Rejects with HubError without an engine. */
export async function pruneImages(
  configs: readonly ServerConfig[],
  { isDry }: { readonly isDry: boolean },
  { images, specOf }: Needs,
) {
  const needed = configs.flatMap(config => imageOf(config, specOf));
  return await images.prune([...ownImages, ...needed], { isDry });
}

function imageOf(config: ServerConfig, specOf: Needs['specOf']): readonly DockerTarget['image'][] {
  try {
    // The image is needed even while the server lacks a secret.
    const { target } = specOf(withoutSecretFaults(config));
    if ('image' in target) return [target.image];
  } catch {
    // The image is also needed if the config cannot be launched for another reason.
  }
  const source = packageOf(config);
  return source ? [{ package: source }] : [];
}
