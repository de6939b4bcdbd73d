import { isObject, tryParseExactly } from '#core';
import { bytes } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { payload } from './pieces.ts';

/** Removes secrets from a text, and cuts it. */
type ShowText = (text: string) => string;

/** Maximum length of shown images and sounds, in characters of base64. Larger ones are only named. */
const maxMediaLength = 8 * 2 ** 20;
/** Types of images that a browser shows without executing their content. */
const imageTypes = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const soundTypes = /^audio\/[\w.+-]+$/;
const base64 = /^[\w+/]*={0,2}$/;

/** Shows the content of a tool's result: texts, images, sounds and resources in their order. */
export function resultContent(result: unknown, show: ShowText): Content {
  const { content, structuredContent } = isObject(result) ? result : {};
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const texts = parts.filter(part => isObject(part) && part['type'] === 'text').length;
  let text = 0;
  const shown = parts.map(part => {
    if (isObject(part) && part['type'] === 'text') text++;
    return contentPart(part, texts > 1 ? `Text ${text}` : 'Text', show);
  });
  const isRepeated = parts.some(part => isObject(part) && isSame(part['text'], structuredContent));
  if (structuredContent === undefined || isRepeated) return shown;
  return [...shown, payload(show(prettyOf(structuredContent)), 'Structured result')];
}

const isSame = (text: unknown, structured: unknown): boolean =>
  typeof text === 'string' &&
  JSON.stringify(tryParseExactly(text)) === JSON.stringify(structured ?? null);

const prettyOf = (value: unknown): string => JSON.stringify(value, undefined, 2) ?? '';

/** Formats objects and lists as indented JSON. Other texts stay unchanged. */
function readable(text: string): string {
  const value = /^\s*[[{]/.test(text) ? tryParseExactly(text) : undefined;
  return value === undefined ? text : prettyOf(value);
}

function contentPart(part: unknown, name: string, show: ShowText): Content {
  if (!isObject(part)) return undefined;
  const { type, data, mimeType, text, resource } = part;
  if (type === 'text') return payload(readable(show(String(text))), name);
  if (type === 'image' || type === 'audio') return media(String(data), String(mimeType), 'result');
  if (type === 'resource' && isObject(resource)) return resourcePart(resource, show);
  return type === 'resource_link' ? linkPart(part, show) : undefined;
}

/** Shows an image or a sound, which the page contains as a data URL. */
function media(data: string, mimeType: string, what: string): Html {
  const size = bytes((data.length * 3) / 4);
  if (data.length > maxMediaLength || !base64.test(data))
    return html`<p class="note">${mimeType}, ${size}: too large to show here, or not base64.</p>`;
  const url = `data:${mimeType};base64,${data}`;
  if (imageTypes.test(mimeType))
    return html`<figure class="media"><img src="${url}" alt="Image of the ${what}"><figcaption class="note">${mimeType}, ${size}</figcaption></figure>`;
  if (soundTypes.test(mimeType))
    return html`<figure class="media"><audio controls src="${url}" aria-label="Sound of the ${what}"></audio><figcaption class="note">${mimeType}, ${size}</figcaption></figure>`;
  return html`<p class="note">${mimeType}, ${size}</p>`;
}

function resourcePart(resource: Readonly<Record<string, unknown>>, show: ShowText): Html {
  const { uri, mimeType, text, blob } = resource;
  const address = show(String(uri));
  const inside =
    typeof text === 'string'
      ? payload(readable(show(text)), `Resource ${address}`)
      : typeof blob === 'string' &&
        media(blob, typeof mimeType === 'string' ? mimeType : 'no type', 'resource');
  return html`<div class="resource"><p><code>${address}</code></p>${inside}</div>`;
}

function linkPart(part: Readonly<Record<string, unknown>>, show: ShowText): Html {
  const textAt = (key: string) => (typeof part[key] === 'string' ? show(part[key]) : undefined);
  const address = textAt('uri') ?? '';
  // Link only to web addresses, because other schemes could execute code.
  const link = /^https?:\/\//i.test(address)
    ? html`<a href="${address}" target="_blank" rel="noreferrer">${address}</a>`
    : html`<code>${address}</code>`;
  const title = textAt('title') ?? textAt('name');
  return html`<div class="resource"><p>${title !== undefined && html`<strong>${title}</strong> `}${link}</p>${textAt('description') !== undefined && html`<p class="note">${textAt('description')}</p>`}</div>`;
}
