/**
 * A group is a file in groups/, found by its folder and called by the name of the file. It exports `group`:
 *
 *     title, about     for the pages, and one line for --help
 *     place            where it comes when all are run; those from 100 on run only when they are named in --only, or by --against
 *     run(context)     measures, and returns { tables, headlines, behind, reach, lines }, all but the tables if it has any (report/pages.mjs)
 *
 * The context has `quick`, `progress` (group, step) and `against`, the build of another commit to be measured in the same rounds, if one was given.
 */
import { readdirSync } from 'node:fs';

const FOLDER = new URL('./groups/', import.meta.url);
const ONLY_WHEN_ASKED = 100;

export async function allGroups() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.mjs'));
  const groups = await Promise.all(
    files.map(async (file) => ({ name: file.replace('.mjs', ''), ...(await import(new URL(file, FOLDER))).group })),
  );
  return groups.sort((one, other) => one.place - other.place);
}

export const runsByDefault = ({ place }, against) => place < ONLY_WHEN_ASKED || against !== undefined;
