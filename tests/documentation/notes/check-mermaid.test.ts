import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { faultOfMermaid } from '../../../hub/documentation/notes/check-mermaid.ts';

describe('a correct diagram:', () => {
  test.each([
    'flowchart LR\n  a --> b',
    'graph TD\n  a["one"] -->|calls| b("two") --> c{three}\n  %% a comment\n  a -.-> c;',
    'flowchart TB\n  subgraph one["The first"]\n    direction LR\n    a --- b\n  end\n  b ==> c[(store)]',
    'flowchart LR\n  a["a.b/c-d (x)"]',
  ])('%j', drawing => {
    assert.equal(faultOfMermaid(drawing), undefined);
  });
});

describe('a refused diagram:', () => {
  test.each([
    ['', /does not begin/],
    ['sequenceDiagram\n a->>b: x', /does not begin/],
    ['flowchart LR', /no nodes/],
    ['flowchart LR\n a --> ', /line 2: cannot be read/],
    ['flowchart LR\n a[unclosed --> b', /line 2/],
    ['flowchart LR\n a["x"y"] --> b', /line 2/],
    ['flowchart LR\n subgraph x\n a --> b', /without "end"/],
    ['flowchart LR\n a --> b\n end', /without "subgraph"/],
    ['flowchart LR\n end --> b', /keyword/],
    ['flowchart LR\n a --> end', /keyword/],
    ['flowchart LR\n a --> b\n click a "https://x.y"', /line 3/],
    ['flowchart LR\n a["<img src=x>"]', /line 2/],
    ['%%{init: {"securityLevel": "loose"}}%%\nflowchart LR\n a --> b', /does not begin/],
    [`flowchart LR\n${' a --> b\n'.repeat(500)}`, /more than 400 lines/],
  ])('%j', (drawing, fault) => {
    assert.match(faultOfMermaid(drawing) ?? '', fault);
  });
});
