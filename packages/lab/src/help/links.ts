/** Where to read on. Whoever hosts the page says where: `npm run lab:static -- --docs URL --source URL` writes it into the page. */

export interface Link {
  readonly label: string;
  readonly href: string;
}

const NAMES = [
  ['Documentation', 'sluice-docs'],
  ['Source', 'sluice-source'],
] as const;

/** From `<meta name="sluice-docs" content="...">`; what is not said has no link. */
export function linksIn(document: Document): readonly Link[] {
  return NAMES.flatMap(([label, name]) => {
    const href = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
    return href === '' ? [] : [{ label, href }];
  });
}
