import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readDockerRun } from '../../hub/clients/docker-run.ts';

const read = (line: string) => readDockerRun(line.split(' '));
const bare = {
  image: 'i',
  args: [],
  env: {},
  passedThrough: [],
  mounts: [],
  volumes: {},
  network: undefined,
  user: undefined,
  cwd: undefined,
  command: undefined,
};

test.each([
  ['run i', {}],
  ['run -i --rm -it --init i a -b', { args: ['a', '-b'] }],
  ['run -e A=1 --env=B=x=y -eC -e D i', { env: { A: '1', B: 'x=y' }, passedThrough: ['C', 'D'] }],
  ['run -v /a:/b:ro -v data:/d i', { mounts: ['/a:/b:ro'], volumes: { data: '/d' } }],
  ['run -v C:\\a:/b i', { mounts: ['C:\\a:/b:rw'] }],
  ['run --network none i', { network: 'none' }],
  ['run --net=host i', { network: 'bridge' }],
  ['run -u 1000:1000 -w /w --entrypoint sh i', { user: '1000:1000', cwd: '/w', command: 'sh' }],
  ['run --name n --pull always -l x=y -p 80:80 --cap-drop ALL i', {}],
  ['run -m 1g --cpus=0.5 i', { resources: { memory: '1g', cpus: 0.5 } }],
])('%s is translated', (line, expected) => {
  assert.deepEqual(read(line), { ...bare, ...expected });
});

test.each([
  'build .',
  'run',
  'run -it',
  'run --privileged i',
  'run --network container:x i',
  'run -v nonsense i',
  'run -v data:/d:ro i',
  'run --mount source=data,target=/d,readonly i',
  'run -v data:/a -v data:/b i',
  'run --gpus all i',
])('%s cannot be translated', line => {
  assert.equal(read(line), undefined);
});
