/**
 * Our renderer of Helm's templates against Go's own: Caddy has text/template and Sprig in it, and is asked to render the same cases. So a chart that
 * renders here renders alike in Helm. What ours does not know must be an error.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findGateway, freePort, spawnServer, stopper } from '../servers/index.ts';
import { waitUntil } from '../servers/wait-until.ts';
import { Templates } from './render.ts';

/** In each, `$d` is this, in both. */
const DATA = `{{ $d := dict "name" "sluice" "n" 3 "zero" 0 "empty" "" "no" false "yes" true "list" (list "a" "b" "c") "none" (list) "map" (dict "z" 1 "a" 2) "text" "one\\ntwo" }}`;

const CASES = [
  // White space.
  'a {{ "b" }} c',
  'a {{- "b" -}} c',
  'a\n  {{- "b" }}\n c',
  'a {{/* gone */}} b',
  'a {{- /* gone */ -}} b',
  '{{ "{{" }} {{ `raw "x"` }}',
  '{{- if true }}\n  x\n{{- end }}\ny',
  // Truth.
  ...['name', 'n', 'zero', 'empty', 'no', 'yes', 'list', 'none', 'map'].map(
    (name) => `{{ if $d.${name} }}yes{{ else }}no{{ end }}`,
  ),
  '{{ if $d.missing }}yes{{ else }}no{{ end }}',
  '{{ if $d.no }}a{{ else if $d.yes }}b{{ else }}c{{ end }}',
  '{{ if $d.no }}a{{ else if $d.zero }}b{{ else }}c{{ end }}',
  '{{ with $d.name }}{{ . }}{{ else }}none{{ end }}',
  '{{ with $d.empty }}{{ . }}{{ else }}none{{ end }}',
  // Loops: maps in order, variables, what is outside.
  '{{ range $d.list }}[{{ . }}]{{ end }}',
  '{{ range $index, $item := $d.list }}{{ $index }}={{ $item }} {{ end }}',
  '{{ range $key, $value := $d.map }}{{ $key }}={{ $value }} {{ end }}',
  '{{ range $item := $d.list }}{{ $item }}{{ $d.name }}{{ end }}',
  '{{ range $d.none }}x{{ else }}nothing{{ end }}',
  '{{ $x := 1 }}{{ range $d.list }}{{ $x = 2 }}{{ end }}{{ $x }}',
  '{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}',
  '{{ $x := 1 }}{{ if true }}{{ with "a" }}{{ $x = 3 }}{{ end }}{{ end }}{{ $x }}',
  // Pipes, calls, parentheses.
  '{{ "a" | printf "%s-%s" "b" }}',
  '{{ printf "%d %v %q %%" 3 true "x" }}',
  '{{ (dict "a" (dict "b" "c")).a.b }}',
  '{{ default "d" $d.empty }} {{ default "d" $d.name }} {{ $d.missing | default 5 }} {{ default 7 0 }}',
  '{{ and 1 "" "x" | len }} {{ or "" "b" }} {{ not $d.no }} {{ and $d.yes (eq $d.n 3) }}',
  '{{ eq $d.name "sluice" }} {{ eq "a" "b" "a" }} {{ ne 1 2 }} {{ gt 2 1 }} {{ lt 2 1 }}',
  '{{ quote "a\\"b" }} {{ 8080 | quote }} {{ true | quote }} {{ "" | quote }}',
  '{{ $d.text | indent 2 }}|{{ $d.text | nindent 4 }}|',
  '{{ $d.text | nindent 4 | trim }}',
  '{{ "abcdef" | trunc 3 }} {{ "abc-" | trimSuffix "-" }} {{ "a+b+c" | replace "+" "_" }} {{ contains "b" "abc" }}',
  '{{ list 1 2 3 | join "," }} {{ len $d.list }} {{ len $d.map }} {{ len "abcd" }}',
  '{{ hasKey $d "name" }} {{ hasKey $d "nope" }} {{ ternary "a" "b" true }} {{ ternary "a" "b" false }}',
  '{{ int "5" }} {{ add 5 15 }} {{ toString 5 }}{{ toString true }} {{ "x" | sha256sum }}',
  '{{ $d.list | len | printf "%d items" }}',
];

const folder = mkdtempSync(join(tmpdir(), 'sluice-templates-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("Go's templates", () => {
  let port: number;
  let stop: () => Promise<void> = async () => {};
  beforeAll(async () => {
    const { file, env } = await findGateway('caddy');
    port = await freePort();
    for (const [index, text] of CASES.entries()) writeFileSync(join(folder, `${index}.html`), DATA + text);
    const caddyfile = `{\n  admin off\n  auto_https off\n}\nhttp://127.0.0.1:${port} {\n  root * ${folder}\n  templates\n  file_server\n}\n`;
    writeFileSync(join(folder, 'Caddyfile'), caddyfile);
    const home = { ...env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const args = ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'];
    const child = spawnServer({ server: file, env: home }, args, folder, join(folder, 'log'));
    stop = stopper(child, folder);
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/0.html`).then(
        ({ ok }) => ok,
        () => false,
      );
    await Promise.race([
      waitUntil('Caddy answers', isUp),
      once(child, 'exit').then(() => Promise.reject(new Error('Caddy ended'))),
    ]);
  });
  afterAll(() => stop());

  test.each(CASES.map((text, index) => [text, index] as const))('%s', async (text, index) => {
    const response = await fetch(`http://127.0.0.1:${port}/${index}.html`);
    const go = await response.text();
    expect(response.status, go).toBe(200);
    const templates = new Templates();
    expect(templates.render(templates.add(DATA + text, 'case').body, {})).toBe(go);
  });
});

describe('what is not known is an error', () => {
  test.each([
    ['{{ nosuch 1 }}', 'the function nosuch is not known'],
    ['{{ if true }}x', 'an {{ end }} is missing'],
    ['{{ end }}', '{{ end }} is not known here'],
    ['{{ template "x" }}', '{{ template "x" }} is not known here'],
    ['{{ include "x" . }}', 'there is no template "x"'],
    ['{{ $x }}', 'the variable $x is not there'],
    ['{{ .a.b }}', 'nil pointer evaluating .a.b'],
    ['{{ "a" "b" }}', 'is no function'],
    ['{{ (dict "a" }}', 'a ) is missing'],
    ['{{ dict "a" 1 }}', 'use toYaml'],
    ['{{ eq 1 "1" }}', 'incompatible types for comparison'],
    ['{{ printf "%x" 1 }}', 'printf: %x is not known'],
    ['{{ 1 ? 2 }}', 'cannot read'],
    ['a {{ "b', 'an action does not end'],
    ['{{ fail "no" }}', 'no'],
    ['{{ required "needed" "" }}', 'needed'],
  ])('%s', (text, message) => {
    const templates = new Templates();
    expect(() => templates.render(templates.add(text, 'case').body, {})).toThrow(message);
  });

  test('include, tpl and toYaml, which only Helm has', () => {
    const templates = new Templates();
    const { body } = templates.add(
      '{{ define "x" }}<{{ .a }}>{{ end }}{{ include "x" (dict "a" 1) }}{{ tpl "{{ .b }}" (dict "b" 2) }}\n{{ dict "b" (list 1 "2" true) "a" (dict "c" "d: e") | toYaml }}',
      'case',
    );
    expect(templates.render(body, {})).toBe('<1>2\na:\n  c: "d: e"\nb:\n  - 1\n  - "2"\n  - true');
  });
});
