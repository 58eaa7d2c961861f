// The selectors through which Pitwall's scripts find elements of Streamlit's own page, kept in this one file because a
// new version of Streamlit may break them; streamlit_dom.css has those of Pitwall's styles.
// tests/web/server/test_streamlit_dom.py shows which ones a new version has broken.

/** The element of Streamlit's index.html into which Streamlit renders the page. */
export const ROOT = "#root";
/** The app element while no script runs: the script of the page has finished. */
export const IDLE_APP = "#root [data-testid=stApp][data-test-script-state=notRunning]";
/** The app element: it has the colour scheme of the current theme, and a class that changes with the theme. */
export const APP = "[data-testid=stApp]";
/** The container of everything that a page's script shows, below the navigation. */
export const PAGE = "[data-testid=stMainBlockContainer]";
/** The placeholder of a widget whose code has not arrived yet. */
export const SKELETON = "[data-testid=stSkeleton]";
/** A cell of the HTML table inside a canvas table: it mirrors the visible part for screen readers and has the focus. */
export const TABLE_CELL = "[data-testid=stDataFrame] canvas td";
/** The element that scrolls a page that is taller than its window. */
export const PAGE_SCROLLER = "[data-testid=stMain]";
/** The element that scrolls a table that is taller than its container. */
export const TABLE_SCROLLER = "[data-testid=stDataFrame] .dvn-scroller";
/** A multi-line text input; Ctrl+Enter in it submits its text to the page's script. */
export const TEXT_AREA = "[data-testid=stTextArea] textarea";
/** The app element while Streamlit is connected to its server. */
export const CONNECTED_APP = "#root [data-testid=stApp][data-test-connection-state=CONNECTED]";
/** The close button of a dialog, such as Streamlit's own about a lost connection. */
export const DIALOG_CLOSE_BUTTON = "[data-testid=stDialog] [aria-label=Close]";
/** A link of the navigation. */
export const DRAWER_LINK = "[data-testid=stSidebarNav] a";
/** The close button of the drawer that the navigation becomes on a narrow screen. */
export const DRAWER_CLOSE_BUTTON = "[data-testid=stSidebarCollapseButton] button";
/** The element of a slider that takes the keyboard focus. */
export const SLIDER = "[data-testid=stSlider] input[type=range]";
