import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { isOtherShare } from '../../hub/enhance/quantities.ts';

const isOther = (a: string, b: string) => isOtherShare(canonicalOf(a), canonicalOf(b));

test('"all" and "some" differ, in both orders', () => {
  assert.ok(isOther('Give every user a role', 'Give some users a role'));
  assert.ok(isOther('List most of the files', 'List all of the files'));
});

test('"all" equals "every", and a quantity in only one prompt is ignored', () => {
  assert.ok(!isOther('List all files', 'List every file'));
  assert.ok(!isOther('List all files', 'List the files'));
  assert.ok(!isOther('Show some of all files', 'Show all of some files'));
});

test('"one" differs from "every" and from "several"', () => {
  assert.ok(isOther('Name every planet with rings', 'Name one planet with rings'));
  assert.ok(isOther('Name every planet with rings', 'Name a planet with rings'));
  assert.ok(isOther('Give each child an apple', 'Give the child an apple'));
  assert.ok(isOther('Check both files', 'Check one file'));
});

test('a frequency is the same however it is written', () => {
  assert.ok(!isOther('Rotate the keys every year', 'Rotate the keys once a year'));
  assert.ok(!isOther('Name one planet', 'Name a planet'));
});

test('"few" differs from "a few", and "every second" from "the second"', () => {
  assert.ok(isOther('Why did few users leave?', 'Why did a few users leave?'));
  assert.ok(!isOther('List a few users', 'Name a few of the users'));
  assert.ok(isOther('Print every second row', 'Print the second row'));
  assert.ok(!isOther('Ask every second', 'Ask once a second'));
});
