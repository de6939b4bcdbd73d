import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'vitest';
import { copyTree } from '#helpers/tree';

/** Modules that cost memory if more than their types are imported, and what to do instead. */
const costly: Readonly<Record<string, string>> = {
  'node:http': 'use `http` of #core',
  'node:https': 'use `https` of #core',
  fastify: 'import it where it is first used',
  dockerode: 'import it where it is first used',
  ioredis: 'import it where it is first used',
  'pino-pretty': 'import it where it is first used',
  ws: 'import it where it is first used',
  yaml: 'only config/yaml.ts, which is imported when there is YAML to read',
};

test('modules that cost memory are not imported before their first use (decisions/0007)', () => {
  for (const file of globSync('hub/**/*.ts')) {
    if (file.endsWith('config/yaml.ts')) continue;
    const source = readFileSync(file, 'utf8');
    // Only types may be imported from OpenTelemetry: hubs that send no traces do not load it at all.
    assert.doesNotMatch(source, /^import (?!type )[^;]*?from '@opentelemetry\//m, file);
    for (const [, name = ''] of source.matchAll(/^import (?!type )[^;]*?from '([^']+)'/gm))
      assert.ok(!Object.hasOwn(costly, name), `${file} imports ${name}: ${costly[name]}`);
  }
});

test('no first use loads the type stripper: all of the hub is compiled in advance', async () => {
  // A copy without a build, as in the image.
  const tree = await copyTree();
  const env = { ...process.env, NODE_COMPILE_CACHE: join(tree, 'cache') };
  const script = `
    await import('${pathToFileURL(join(tree, 'hub/installs/installs.ts')).href}');
    console.log(process.moduleLoadList.some(name => name.includes('amaro')));
  `;
  const isLoaded = () =>
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      env,
    }).trim();
  try {
    execFileSync(process.execPath, [join(tree, 'scripts/compile.mjs')], { env });
    assert.equal(isLoaded(), 'false');
  } finally {
    await rm(tree, { recursive: true });
  }
});

test('OpenTelemetry is only loaded if an endpoint is set (decisions/0007)', () => {
  const [telemetry, otel] = ['index', 'otel/otel'].map(
    name => pathToFileURL(`hub/telemetry/${name}.ts`).href,
  );
  const script = `
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({ resolve(name, context, next) { seen.add(name); return next(name, context); } });
    const isLoaded = () => [...seen].some(name => name.startsWith('@opentelemetry/'));
    await import('${telemetry}');
    await import('${otel}');
    console.log(isLoaded());
  `;
  const loaded = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  assert.equal(loaded.trim(), 'false');
});

test('dockerode is loaded without gRPC and ssh (decisions/0007)', () => {
  const loader = pathToFileURL('hub/runtimes/docker/engine/call.ts').href;
  const script = `
    import { createRequire } from 'node:module';
    const { loadDockerode } = await import('${loader}');
    const Docker = await loadDockerode();
    new Docker({ socketPath: '/nowhere' }).getContainer('any');
    console.log(JSON.stringify(Object.keys(createRequire('${loader}').cache)));
  `;
  const loaded = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  assert.match(loaded, /dockerode/);
  assert.doesNotMatch(loaded, /node_modules\/(ssh2|@grpc|protobufjs)\//);
});
