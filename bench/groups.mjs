/**
 * A group is a file in groups/, found by its folder and called by the name of the file. It exports `group`:
 *
 *     title, about     for the pages, and one line for --help
 *     place            where it comes when all are run; those from 100 on run only when they are named in --only, or by --against
 *     run(context)     measures, and returns { tables }, and if it has any { headlines, behind, lines } for the pages (report/pages.mjs),
 *                      { reach } (report/reach.mjs) and { beside }, pairs of a name and how many times less it takes than at the other commit
 *
 * The context has `quick`, `progress` (group, step) and `against`, the build of another commit to be measured in the same rounds, if one was given.
 */
import { readdirSync } from 'node:fs';

const FOLDER = new URL('./groups/', import.meta.url);
const ONLY_WHEN_ASKED = 100;

export async function allGroups() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.mjs'));
  const groups = await Promise.all(
    files.map(async (file) => ({ name: file.replace('.mjs', ''), ...(await groupIn(file)) })),
  );
  return groups.sort((one, other) => one.place - other.place);
}

/** One that cannot be loaded fails when it is run, and leaves the others alone. */
async function groupIn(file) {
  try {
    return (await import(new URL(file, FOLDER))).group;
  } catch (error) {
    const run = () => Promise.reject(error);
    return {
      title: file,
      about: `cannot be loaded: ${error.message}`,
      place: ONLY_WHEN_ASKED - 1,
      isBroken: true,
      run,
    };
  }
}

export const runsByDefault = ({ place }, against) => place < ONLY_WHEN_ASKED || against !== undefined;
