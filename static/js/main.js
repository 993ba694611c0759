// @ts-check
/** What every page does. */
import { startCopy } from "./copy.js";
import { startDialogs } from "./dialog.js";
import { shortcut, startKeys } from "./keys.js";
import { nextTheme, startTheme } from "./theme.js";

startTheme();
startDialogs();
startCopy();
startKeys();
shortcut("t", "keyTheme", nextTheme);
