import { expect, test } from 'vitest';
import { hasUnclearMembers } from '../../hub/http/unclear-members.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

test.for([
  ['{"a":1,"a":2}', true],
  ['{"a":{"b":1,"c":2,"b":3}}', true],
  ['{"a":[1,{"b":1,"b":1}]}', true],
  ['[{"a":1},{"a":1,"a":1}]', true],
  [String.raw`{"a":1,"\u0061":2}`, true],
  ['{"a":1 , "b":{} ,"a" : 2}', true],
  ['{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}', false],
  ['{"a":"b","b":["a","a","b"]}', false],
  [String.raw`{"a":"\"a\":1,{[","\\":1,"\"":2,"b":"\\"}`, false],
  ['{"A":1,"a":2,"":3}', false],
  ['" {"', false],
  ['[]', false],
  [nested(512), false],
  [nested(513), true],
  [nested(100_000), true],
] as const)('whether %j has members that parsers read differently: %s', ([text, isUnclear]) => {
  expect(hasUnclearMembers(text)).toBe(isUnclear);
});
