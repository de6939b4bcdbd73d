import assert from 'node:assert/strict';
import type { PackageSpec, ServerConfig } from '#config';
import { configOf } from '#helpers/hub';

/** Returns the config of a server that is a package. */
export function packagedConfig(source: PackageSpec | undefined, name = 'one'): ServerConfig {
  const config = configOf({ name });
  assert.ok(config.launch.kind === 'local');
  return { ...config, launch: { ...config.launch, command: undefined, args: [], package: source } };
}
