import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { fixedNetwork, targetsOf } from '#config';
import { findNetworkTarget } from '../../hub/config/network.ts';

describe('a target of a network list', () => {
  test.each<[string, string, readonly number[], boolean]>([
    ['api.github.com', 'api.github.com', [80, 443], false],
    ['API.GitHub.com', 'api.github.com', [80, 443], false],
    ['*.npmjs.org:443', '*.npmjs.org', [443], false],
    ['*.example', '*.example', [80, 443], false],
    ['*', '*', [80, 443], false],
    ['*:8080', '*', [8080], false],
    ['db.internal:5432', 'db.internal', [5432], true],
    ['nas:445', 'nas', [445], true],
    ['my_host-1.example:65535', 'my_host-1.example', [65535], true],
  ])('is %s', (written, name, ports, isExact) => {
    assert.deepEqual(findNetworkTarget(written), { name, ports, isExact });
  });

  test.each<[string, RegExp]>([
    ['https://api.github.com', /^write the name of the host, without "https:\/\/"$/],
    ['tcp://db:1', /without "tcp:\/\/"/],
    ['api.github.com/repos', /^write the name of the host, without a path$/],
    ['10.0.0.0/8', /^write names instead of a range of addresses/],
    ['fd00::/8', /^write names instead of a range/],
    ['10.0.0.1', /^write a name instead of an address/],
    ['10.0.0.1:5432', /^write a name instead of an address/],
    ['::1', /^write a name instead of an address/],
    ['[::1]:80', /^write a name instead of an address/],
    ['2130706433', /^write a name instead of an address/],
    ['0x7f000001:80', /^write a name instead of an address/],
    ['*.1', /^write a name instead of an address/],
    ['', /^write a name such as/],
    ['api.*.com', /^write a name such as/],
    ['*api.com', /^write a name such as/],
    ['a b', /^write a name such as/],
    ['user@host', /^write a name such as/],
    ['-a.com', /^write a name such as/],
    ['localhost', /^remove it: this is the container of the server itself/],
    ['a.localhost:80', /^remove it: this is the container of the server itself/],
    ['api.com:0', /^write a port from 1 to 65535$/],
    ['api.com:65536', /^write a port/],
    ['api.com:http', /^write a port/],
    ['api.com:', /^write a port/],
    ['db.internal:3128', /^use another port than 3128/],
  ])('is not "%s"', (written, problem) => {
    const found = findNetworkTarget(written);
    assert.match('problem' in found ? found.problem : 'none', problem);
  });

  test('may have the port of the proxy in a pattern, which has no listener', () => {
    assert.ok('name' in findNetworkTarget('*.internal:3128'));
  });
});

test('a change of exact targets needs a new container; a change of patterns does not', () => {
  assert.equal(fixedNetwork('bridge'), 'bridge');
  const allow = ['b.internal:2', 'api.com', 'a.internal:1', '*.c:3'];
  assert.deepEqual(fixedNetwork({ allow }), { allow: ['a.internal:1', 'b.internal:2'] });
});

test('a network without a list has no targets', () => {
  assert.deepEqual(targetsOf('none'), []);
  assert.deepEqual(
    targetsOf({ allow: ['api.com'] }).map(({ name }) => name),
    ['api.com'],
  );
});
