import type { Canonical } from './canonical.ts';
import { wordSet } from './words.ts';

const all = wordSet('all every each everything everybody everyone');
const part = wordSet('some few several many most');

/** Whether one prompt is about all, and the other one about some. */
export function isOtherShare(a: Canonical, b: Canonical): boolean {
  const [left, right] = [a, b].map(({ tokens }) => {
    const texts = tokens.map(({ text }) => text.toLowerCase());
    return [all, part].map(set => texts.some(text => set.has(text)));
  });
  const [allLeft, partLeft] = left ?? [];
  const [allRight, partRight] = right ?? [];
  return (
    (allLeft === true && partRight === true && !allRight && !partLeft) ||
    (allRight === true && partLeft === true && !allLeft && !partRight)
  );
}
