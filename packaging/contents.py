"""What goes into the frozen programs and what stays out: plain lists, read by `holaboss.spec` and the tests.

`measure.py` holds the resulting folder to its budget. Nothing here imports PyInstaller.
"""

from __future__ import annotations

from fnmatch import fnmatch

# The desktop starts the runtime as a sibling program: these names are a contract between the two.
DESKTOP = "holaboss"
RUNTIME = "holaboss-runtime"

# Parts of the standard library that only an interpreter at a prompt or a test run uses.
_NEVER_FROZEN = ["tkinter", "pydoc_data", "lib2to3", "idlelib", "pytest", "_pytest", "hypothesis"]

# Only the command lines and the build scripts of libraries use these; the libraries do without.
_LIBRARY_TOOLS = ["distutils", "rich", "setuptools"]

# The reader of slides loads the library for pictures and shows it none.
_PICTURE_CODECS = [
    "PIL._avif",
    "PIL._imagingcms",
    "PIL._imagingft",
    "PIL._imagingtk",
    "PIL._webp",
]

# Libraries would take them merely because they are installed on the building machine.
_MERELY_INSTALLED = ["httptools", "markupsafe", "uvloop", "watchfiles", "werkzeug"]

# Only an interpreter at a prompt reads lines with it, and it brings two libraries along.
_PROMPT = ["readline"]

_QT_MODULES_UNUSED = [
    f"PySide6.{module}"
    for module in (
        "QtConcurrent",
        "QtDesigner",
        "QtHelp",
        "QtOpenGL",
        "QtOpenGLWidgets",
        "QtPrintSupport",
        "QtQml",
        "QtQuick",
        "QtQuick3D",
        "QtQuickControls2",
        "QtQuickTest",
        "QtQuickWidgets",
        "QtSql",
        "QtTest",
        "QtUiTools",
        "QtXml",
    )
]

DESKTOP_EXCLUDES = [
    *_NEVER_FROZEN,
    *_LIBRARY_TOOLS,
    *_MERELY_INSTALLED,
    *_PROMPT,
    *_QT_MODULES_UNUSED,
    "PIL",
    "anthropic",
    "apsw",
    "fastapi",
    "holaboss_runtime",
    "openai",
    "pydantic_ai",
    "starlette",
    "unittest",  # the runtime needs it: a library below pydantic-ai builds a mock from it at import
    "uvicorn",
]

RUNTIME_EXCLUDES = [
    *_NEVER_FROZEN,
    *_LIBRARY_TOOLS,
    *_PICTURE_CODECS,
    *_MERELY_INSTALLED,
    *_PROMPT,
    "PySide6",
    "holaboss_app",
    "keyring",
    "lxml.html._difflib",
    "lxml.html.diff",
    "lxml.isoschematron",
    "lxml.objectify",
    "lxml.sax",
    "pydantic_ai.realtime",
    "pydantic_ai.ui",
    "pygments",
    "qasync",
    "shiboken6",
    "tiktoken",  # counts tokens before a request; nobody here does
]

# Modules that are named by a string or imported inside a function that no analysis sees.
RUNTIME_HIDDEN_IMPORTS = [
    "uvicorn.lifespan.off",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
]

# Packages that look for their files beside their modules: those have to be there as files too.
RUNTIME_COLLECTION_MODE = {"docx.parts": "pyz+py", "pptx.oxml": "pyz+py", "pptx.parts": "pyz+py"}

# Distributions whose own version is looked up at import time.
RUNTIME_METADATA = [
    "anthropic",
    "genai-prices",
    "openai",
    "opentelemetry-api",
    "pydantic-ai-slim",
    "pydantic-graph",
]

# Files of a collected folder that neither program ever opens.
_DROPPED_FILES = [
    "PySide6/Qt/translations/*",
    "PySide6/Qt/qml/*",
    "PySide6/Qt/plugins/egldeviceintegrations/*",
    "PySide6/Qt/plugins/generic/*",
    "PySide6/Qt/plugins/networkinformation/*",
    "PySide6/Qt/plugins/imageformats/libq[!sjwgi]*",  # keeps svg, jpeg, webp, gif, ico
    "PySide6/Qt/plugins/imageformats/libqicns*",
    "PySide6/Qt/plugins/imageformats/libqwbmp*",
    "PySide6/Qt/plugins/platforms/libq[!oxwc]*",  # keeps offscreen, xcb, wayland, cocoa
    "PySide6/Qt/plugins/platformthemes/libqgtk3*",
    "PySide6/Qt/plugins/wayland-graphics-integration-client/*",  # they draw with OpenGL
    "PySide6/Qt/plugins/xcbglintegrations/*",
    # With their links beside the programs, hence no folder.
    "*libQt6EglF[sS]*",
    "*libQt6OpenGL*",
    "*libQt6Qml*",
    "*libQt6Quick*",
    "libxcb-glx*",
    # Only the GTK theme above asks for these, and the scan for libraries happens before it is dropped.
    "libX[!1a]*",  # keeps libX11, and what the reader of slides has of its own
    "libXau.so*",
    "libatk-*",
    "libatk_*",
    "libatspi*",
    "libblkid*",
    "libbsd*",
    "libcairo*",
    "libdatrie*",
    "libepoxy*",
    "libfribidi*",
    "libgdk*",
    "libgio-*",
    "libgmodule-*",
    "libgobject-*",
    "libgraphite2*",
    "libgtk-*",
    "libharfbuzz*",
    "libjpeg.so*",  # the reader of slides has its own
    "libmd.so*",
    "libmount*",
    "libpango*",
    "libpixman-*",
    "libselinux*",
    "libthai*",
    # What came with a library: how it was installed, templates for new documents, measurements of its own.
    "*.dist-info/RECORD",
    "*/py.typed",
    "docx/templates/default-docx-template/*",
    "jsonschema/benchmarks/*",
    "pptx/templates/*.emf",
]


def is_shipped(destination: str) -> bool:
    """Whether a collected file belongs into the folder; `destination` is its path there."""
    return not any(fnmatch(destination, pattern) for pattern in _DROPPED_FILES)
